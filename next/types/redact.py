"""Text of an upstream without what a client may not see."""

import re

_LONGEST = 500
_TRACE = re.compile(r"Traceback \(most recent call last\)|\bFile \"|\n[ \t]+at \S+[ (]|\bgoroutine \d+ \[")
"""Where a stack trace begins."""
_ADDRESSES = re.compile(
    r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>]+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,20}[a-z]{2,24}:\d+|\blocalhost(?::\d+)?",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"(?i:\b(?:bearer|basic)\s+\S{6,})"
    r"|(?:\b|_)(?i:sk|pk|rk|gsk|xai|hf|nvapi|pplx|key|gh[opsu]|github_pat|glpat)[-_][A-Za-z0-9_\-*.]{8,}"
    r"|\b(?:AIza|AKIA|ASIA|eyJ)[A-Za-z0-9_\-*.]{8,}"
)


def cleaned(text: str, secret: str) -> str:
    """The text without keys, addresses, markup and control characters, shortened."""
    if secret:
        text = text.replace(secret, "…")
    text = _TRACE.split(text, maxsplit=1)[0][:1500]
    text = "".join([letter for letter in text if letter.isprintable() or letter.isspace()])
    text = " ".join(_KEYS.sub("…", _ADDRESSES.sub("…", re.sub(r"<[^<>]*>", " ", text))).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
