"""Redaction: removes secrets, sealed text and long data from what people watch or read in the log."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..protocol.request.create_response import CreateResponse

LONGEST: Final = 1024 * 1024
"""Bytes of a request that is shown."""
_LONG: Final = 256
_SEALED: Final = {"encrypted_content", "signature", "thought_signature"}
_DATA: Final = {"file_data", "data", "result", "b64_json"}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_=\s-]{256,}")
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
    return any(mark in low for mark in _MARKS)


def without_secrets(line: str) -> str:
    """The same, without the quick check before it."""
    line = "".join(_cut(line, _ANNOUNCED, lambda _: True))
    return "".join(_cut(line, _MARKED, lambda secret: _DIGIT.search(secret) is not None))


def _cut(line: str, pattern: re.Pattern[str], is_secret: Callable[[str], bool]) -> Iterator[str]:
    """The line without its secrets, piece by piece."""
    done = 0
    for start in range(0, len(line), _PIECE):
        end = min(start + _PIECE + _OVERLAP, len(line))
        for found in pattern.finditer(line, max(start, done), end):
            if found.start() >= start + _PIECE:
                break  # the next piece begins with it
            if is_secret(found["secret"]):
                yield line[done : found.start("secret")]
                yield "***"
                rest = _REST.match(line, found.end()) if found.end() == end else None
                done = found.end() if rest is None else rest.end()
    yield line[done:]


def redacted(value: Any) -> Any:
    """The same JSON, with short texts in place of what is left out."""
    match value:
        case dict():
            return {_name(key): _entry(key, entry) for key, entry in value.items()}
        case list():
            return [redacted(entry) for entry in value]
        case str() if value.startswith("data:") and len(value) > _LONG:
            head = value.partition(",")[0][:80]
            return f"{head},… ({len(value)} characters)"
        case str():
            return redacted_line(value)
        case _:
            return value


def shown(request: CreateResponse, ask: Any) -> dict[str, Any]:
    """A request and what its upstream is asked; for a very long one only its size."""
    if request.size <= LONGEST:
        return {"request": redacted(request.raw), "ask": redacted(ask)}
    return brief(request)


def brief(request: CreateResponse, why: str = "") -> dict[str, Any]:
    """The same for a request that is not shown: its size, and the reason if that is not the size."""
    left_out = {"model": request.model, "left_out": f"… ({request.size} bytes{why})"}
    return {"request": left_out, "ask": left_out}


def ask_left_out(size: int, why: str = "") -> dict[str, Any]:
    """An ask for the rest of a paused answer that is not shown: its size, and the reason if that is not the size."""
    return {"ask": {"left_out": f"… ({size} bytes{why})"}}


def _name(key: str) -> str:
    return key if key.replace("_", "").isalpha() else redacted_line(key)


def _entry(key: str, value: Any) -> Any:
    if isinstance(value, str):
        if key in _SEALED and value:
            return f"… ({len(value)} characters, sealed)"
        if key in _DATA and len(value) > _LONG and _BASE64.fullmatch(value):
            return f"… ({len(value)} characters of base64)"
    if (
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and key.lower().replace("-", "").replace("_", "").endswith(_SECRET_MEMBERS)
    ):
        named = f"secret={value}"
        shown = redacted_line(named)
        return value if shown == named else shown.removeprefix("secret=")
    return redacted(value)
