"""What may be seen: text of an upstream for clients, and JSON of turns for people."""

import re
from typing import Any

_LONGEST = 500
_SHORTEST = 8
"""Characters of a key: a shorter one, such as `ollama`, may be a word of the text."""
_TRACE = re.compile(r"Traceback \(most recent call last\)|\bFile \"|\n[ \t]+at \S+[ (]|\bgoroutine \d+ \[")
"""Where a stack trace begins."""
_ADDRESSES = re.compile(
    r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>]+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,20}[a-z]{2,24}:\d+|\blocalhost(?::\d+)?",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"(?i:\b(?:bearer|basic)\s+(?![a-z]{1,14}\b(?![-.~+/:%=]))|"  # «Basic authentication» is none
    r"(?:api[_-]?key|authorization|password|secret|access[_-]?token)\\?[\"']?\s*[:=]\s*\\?[\"']?(?:(?:bearer|basic)\s+)?)"
    r"[A-Za-z0-9._~+/:%*-]{6,}=*"
    r"|(?:\b|_)(?i:sk|pk|rk|gsk|csk|xai|hf|r8|nvapi|pplx|key|gh[opsu]|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_\-*.]{8,}"
    r"|\b(?:AIza|AKIA|ASIA|eyJ)[A-Za-z0-9_\-*.]{8,}"
    r"|\bam-[A-Za-z0-9_-]{40,}"
    r"|(?<=://)[^\s/@\"']{1,256}(?=@)"
)
"""What is a key, is announced as one, or stands before the host of an address. It never holds a quotation mark."""
_MARKS = (
    "key", "authorization", "password", "secret", "token", "://", "bearer", "basic", "akia", "asia", "aiza", "eyj",
    "am-", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xai", "hf-", "hf_", "r8", "nvapi", "pplx", "gho", "ghp", "ghs",
    "ghu", "_pat", "glpat", "xox",
)  # fmt: skip
"""A text with a key has one of these: looking for them takes a tenth of the time."""


def without_keys(text: str) -> str:
    """The text with `…` for all that looks like a key."""
    low = text.lower()
    return _KEYS.sub("…", text) if any([mark in low for mark in _MARKS]) else text


def cleaned(text: str, secret: str) -> str:
    """The text without keys, addresses, markup and control characters, shortened."""
    if len(secret) >= _SHORTEST:
        text = text.replace(secret, "…")
    text = _TRACE.split(text, maxsplit=1)[0][:1500]
    text = "".join([letter for letter in text if letter.isprintable() or letter.isspace()])
    text = " ".join(without_keys(_ADDRESSES.sub("…", re.sub(r"<[^<>]*>", " ", text))).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_SECRET_NAMES = ("apikey", "authorization", "password", "secret", "accesstoken")
"""Ends of the names of members that hold a secret, without hyphens and underscores."""
_SEALED = frozenset({"encrypted_content", "signature", "thought_signature"})
_LONG = 256
_PICTURE = re.compile(r"(?:data:image/(?:png|jpeg|gif|webp);base64,|iVBORw0KGgo|/9j/|UklGR)[A-Za-z0-9+/]+={0,2}")
"""Of a client; or of a model, which has the bare data of a PNG, JPEG or WebP."""
_LARGEST = 512 * 1024
"""Characters of a picture that is shown."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]{256,}")


def redacted(value: Any, name: str = "", *, pictures: bool = False) -> Any:
    """The same JSON for people, with short words in place of secrets, sealed text and data. `name`: of this member.

    `pictures`: they stay.
    """
    try:
        if isinstance(value, dict):
            if value.get("type") == "mcp" and isinstance(value.get("headers"), dict):
                value = {**value, "headers": dict.fromkeys(value["headers"], "…")}
            return {redacted_text(key): redacted(entry, key, pictures=pictures) for key, entry in value.items()}
        if isinstance(value, list):
            return [redacted(entry, pictures=pictures) for entry in value]
    except RecursionError:
        return "… (nested too deeply)"
    is_secret = name.lower().replace("-", "").replace("_", "").endswith(_SECRET_NAMES)
    if is_secret and isinstance(value, str | int | float) and len(str(value)) > 5:
        return "…"
    if not isinstance(value, str):
        return value
    if name in _SEALED and value:
        return f"… ({len(value)} characters, sealed)"
    if pictures and len(value) <= _LARGEST and _PICTURE.fullmatch(value):
        return value
    if len(value) > _LONG and value.startswith("data:"):
        return f"{value.partition(',')[0][:80]},… ({len(value)} characters)"
    if len(value) > _LONG and _BASE64.fullmatch(value):
        return f"… ({len(value)} characters of base64)"
    return redacted_text(value)


def redacted_text(text: str) -> str:
    """The text without keys, however long it is: while a pattern is looked for, nothing else in the process runs."""
    return "\n".join([without_keys(line) for line in text.split("\n")])
