"""Finds what looks like a key in a text, for everything that people watch, read in the log, or keep in files."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_SECRET_MEMBERS: Final = ("apikey", "authorization", "password", "secret", "accesstoken")
"""Ends of the names of members that hold a secret, without hyphens and underscores."""

_VALUE: Final = r"(?P<secret>[A-Za-z0-9._~+/:%-]{6,}=*)"
_ANNOUNCED: Final = re.compile(
    r"""(?ix)
    (?: \b(?:bearer|basic)\s++(?![a-z]{1,14}(?![a-z0-9_~+/:%=-]|\.[a-z0-9_~+/:%=-]))     # not: basic authentication
      | (?<![a-z0-9])(?:(?:x-|x-goog-)?api[_-]?key|authorization|password|secret|access[_-]?token)
        \\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic)\s++)?+
      | \b[a-z][a-z0-9+.-]{0,30}://(?=[^\s/@"']{1,256}@)            # the user information of a URL
    )"""
    + _VALUE
)
_MARKED: Final = re.compile(
    r"""(?ix)
    \b(?:(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|csk|r8|ghp|gho|github_pat|glpat|xox[abprs]|am(?!-proxy(?![a-z0-9_-])))[-_]|AKIA|ASIA|AIza|eyJ)
    """
    + _VALUE
)
"""Keys that are known by their prefix. A plain word with such a prefix has no digit."""
_REST: Final = re.compile(r"[A-Za-z0-9._~+/:%-]*=*")
_DIGIT: Final = re.compile(r"[0-9]")
_PIECE: Final = 64 * 1024
"""Characters that are searched at once: while a search runs, nothing else in the process runs."""
_OVERLAP: Final = 1024
"""How far a search looks beyond its piece, for what begins in it."""
_MARKS: Final = (
    *("bearer", "basic", "apikey", "api_key", "api-key", "authorization", "password", "secret", "://"),
    *("accesstoken", "access_token", "access-token", "akia", "asia", "aiza", "eyj", "xox"),
    *(f"{word}{end}" for word in ("sk", "pk", "rk", "xai", "hf", "nvapi", "pplx", "r8", "am") for end in "-_"),
    *(
        f"{word}{end}" for word in ("ghp", "gho", "github_pat", "glpat") for end in "-_"
    ),  # those of gsk and csk end in sk
)
"""Every line with a secret contains one of these."""


def redacted_line(line: str) -> str:
    """The line with `***` for anything that looks like a key."""
    return without_secrets(line) if may_hold_secrets(line) else line


def may_hold_secrets(line: str) -> bool:
    """Whether the line has to be searched. It takes a tenth of the time of a search."""
    if not line.isascii():
        return True
    low = line.lower().replace("_am-", "_")  # our own ids
    for mark in _MARKS:  # noqa: SIM110 — `any` takes three times as long
        if mark in low:
            return True
    return False


def without_secrets(line: str) -> str:
    """The same, without the quick check before it."""
    line = _cut(line, _secrets(line, _ANNOUNCED, lambda _: True))
    return _cut(line, _secrets(line, _MARKED, _has_digit))


def secret_places(text: str) -> list[tuple[int, int]]:
    """Where the text holds what looks like a key: the beginning and the end of each, in their order."""
    if not may_hold_secrets(text):
        return []
    places: list[tuple[int, int]] = []
    for start, end in sorted([*_secrets(text, _ANNOUNCED, lambda _: True), *_secrets(text, _MARKED, _has_digit)]):
        if places and start < places[-1][1]:
            places[-1] = (places[-1][0], max(end, places[-1][1]))
        else:
            places.append((start, end))
    return places


def redacted_member(name: str, value: Any) -> Any | None:
    """The value of a member whose name says that it is a secret, without the secret; None for any other member."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    if not name.lower().replace("-", "").replace("_", "").endswith(_SECRET_MEMBERS):
        return None
    named = f"secret={value}"
    shown = redacted_line(named)
    return value if shown == named else shown.removeprefix("secret=")


def without_header_values(value: dict[str, Any]) -> dict[str, Any]:
    """The same object; if it is an MCP server, without the values of its headers, which are secrets under any name."""
    headers = value.get("headers")
    if value.get("type") != "mcp" or not isinstance(headers, dict):
        return value
    return value | {"headers": dict.fromkeys(headers, "***")}


def _has_digit(secret: str) -> bool:
    return _DIGIT.search(secret) is not None


def _cut(line: str, places: Iterable[tuple[int, int]]) -> str:
    """The line without what is at these places."""
    pieces: list[str] = []
    done = 0
    for start, end in places:
        pieces += [line[done:start], "***"]
        done = end
    return "".join([*pieces, line[done:]])


def _secrets(line: str, pattern: re.Pattern[str], is_secret: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """The places of secrets of one kind, piece by piece."""
    done = 0
    for start in range(0, len(line), _PIECE):
        end = min(start + _PIECE + _OVERLAP, len(line))
        for found in pattern.finditer(line, max(start, done), end):
            if found.start() >= start + _PIECE:
                break  # the next piece begins with it
            if is_secret(found["secret"]):
                rest = _REST.match(line, found.end()) if found.end() == end else None
                done = found.end() if rest is None else rest.end()
                yield found.start("secret"), done
