"""Removes keys from the message of an upstream's error, and keeps the names of tools and models. Pure."""

import re
from typing import Final

_ANNOUNCED: Final = re.compile(
    r"""(?ix)
    (?: (?<![a-z0-9])(?:api[-_ ]?key|authorization|password|secret|(?:access|auth|refresh)[-_ ]?token)
        ['"]?\s*[:=]\s*+['"]?+(?:(?:bearer|basic)\s++)?+
        (?! (?:an?|are|cannot|denied|disabled|empty|expired|failed|field|header|incorrect|invalid|is|missing|must|no|not
              |null|none|please|required|revoked|undefined|unknown|was|wrong)  (?:[\s'",;:!]|\.(?:\s|$)|$))
      | \b(?:(?:bearer|basic)\s|token['"]?\s*[:=])\s*+['"]?+(?:(?:bearer|basic)\s++)?+
        (?! (?:\S{1,5}|[a-z]{1,14}['",.;:!?)]{0,3}) (?:\s|$))
    )
    \S+"""
)
"""A word that announces a key, and the key. After `Bearer`, `Basic` and `token`, a plain or short word is not a key;
after the others, only words that describe an error are not."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9_\-*.]{10,}")
"""What may be a key, or a name."""
_MARK: Final = re.compile(
    r"(?:^|[-_.*])(?:"
    r"(?i:sk|pk|rk|gsk|xai|hf|nvapi|fw|pplx|csk|r8|key|gh[opsu]|github_pat|glpat|xox[abprs]|tgp)[-_]?|AIza|AKIA|ASIA|eyJ"
    r")"
)
"""How keys begin."""
_LEAST_AFTER_MARK: Final = 8
_LONG: Final = 40
"""Length from which a word is taken for a key, unless it is a name."""
_LEAST_STEPS: Final = 4
_MOST_STEPS: Final = 30
"""Parts of a long name."""
_LEAST_LETTERS: Final = 4
"""Average length of its parts."""
_ID: Final = re.compile(r"(?:rs|msg|fc|fco|ctc|resp|call|item|cmp)_[A-Za-z0-9_\-]{1,128}")
"""The id of an item."""

_BETWEEN: Final = re.compile(r"[-_.]+")
_WORD: Final = re.compile(r"[A-Za-z]?[a-z]{1,19}|[A-Z]{1,12}|\d{1,4}|[A-Za-z]\d{1,2}|\d{1,3}[A-Za-z]")
"""A part of a name after something that keys begin with."""
_LONG_WORD: Final = re.compile(
    r"[A-Za-z]?[a-z]{1,19}(?:[A-Z][a-z]{1,19}){0,9}|[A-Z]{1,12}|\d{1,8}"
    r"|[A-Za-z]{1,6}\d{1,3}|\d{1,4}[A-Za-z]{1,2}|[A-Za-z]\d{1,3}[A-Za-z]|\d{1,2}x\d{1,3}[Bb]"
)
"""A part of any other name: `createFile`, `FP8`, `17B`, `A3B`, `8x7B`, `20241022`."""
_HUMP: Final = re.compile(r"[A-Z](?=[a-z])")


def without_keys(text: str) -> str:
    """The text, with `…` for everything that looks like a key."""
    return _TOKEN.sub(_replacement, _ANNOUNCED.sub("…", text))


def _replacement(word: re.Match[str]) -> str:
    token = word[0].rstrip(".")
    dots = word[0][len(token) :]
    mark = _MARK.search(token)  # what follows a later one follows this one too
    if mark is not None and _is_key(token[mark.end() :]):
        return f"…{dots}"
    return ".".join("…" if _is_long_key(part) else part for part in word[0].split("."))


def _is_key(rest: str) -> bool:
    """Whether the rest of a word that begins as keys do makes it a key."""
    return len(rest) >= _LEAST_AFTER_MARK and not _is_name(rest, _WORD)


def _is_long_key(part: str) -> bool:
    if len(part) < _LONG or _ID.fullmatch(part):
        return False
    steps = sum(1 + len(_HUMP.findall(step[1:])) for step in _BETWEEN.split(part) if step)
    is_like_name = _LEAST_STEPS <= steps <= _MOST_STEPS and len(part) >= _LEAST_LETTERS * steps
    return not is_like_name or not _is_name(part, _LONG_WORD)


def _is_name(text: str, word: re.Pattern[str]) -> bool:
    """Whether this is made of words and small numbers alone."""
    return all(word.fullmatch(step) for step in _BETWEEN.split(text) if step)
