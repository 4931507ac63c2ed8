"""What a person who watches need not see: sealed text, pictures and files by the megabyte, anything like a key."""

import re
from typing import Any, Final

_LONG: Final = 256
_SEALED: Final = {"encrypted_content", "signature", "thought_signature"}
_DATA: Final = {"file_data", "data", "result", "b64_json"}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_=\s-]{256,}")

SECRETS: Final = re.compile(
    r"""(?ix)
    ( \b(?:bearer|basic)\s+
    | (?<![a-z0-9])(?:(?:x-|x-goog-)?api[_-]?key|authorization|password|secret|access[_-]?token)
      \\?["']?\s*[:=]\s*\\?["']?(?!bearer\s|basic\s)
    | \b[a-z][a-z0-9+.-]*://(?=[^\s/@"']+@)                     # what stands before the @ of an address
    | \b(?:(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|csk|r8|ghp|gho|github_pat|glpat|xox[abprs]|am)[-_]|AKIA|ASIA|AIza|eyJ)
      (?=[^\s"']*[0-9])                                          # a word that only begins so has no digit
    )
    [A-Za-z0-9._~+/:%-]{6,}=*
    """
)
_MARKS: Final = (
    *("bearer", "basic", "apikey", "api_key", "api-key", "authorization", "password", "secret", "://"),
    *("accesstoken", "access_token", "access-token", "akia", "asia", "aiza", "eyj", "xox"),
    *(f"{word}{end}" for word in ("sk", "pk", "rk", "xai", "hf", "nvapi", "pplx", "r8", "am") for end in "-_"),
    *(
        f"{word}{end}" for word in ("ghp", "gho", "github_pat", "glpat") for end in "-_"
    ),  # those of gsk and csk end in sk
)
"""One of these stands in whatever `SECRETS` finds. Looking for them takes a tenth of the time."""
_BLOT: Final = r"\1***"


def blotted(line: str) -> str:
    """The line without anything that looks like a key."""
    if line.isascii():
        low = line.lower().replace("_am-", "_")  # our own ids
        if not any(mark in low for mark in _MARKS):
            return line
    return SECRETS.sub(_BLOT, line)


def redacted(value: Any) -> Any:
    """The same JSON, with words for what is left out."""
    match value:
        case dict():
            return {key: _entry(key, entry) for key, entry in value.items()}
        case list():
            return [redacted(entry) for entry in value]
        case str() if value.startswith("data:") and len(value) > _LONG:
            head = value.partition(",")[0][:80]
            return f"{head},… ({len(value)} characters)"
        case str():
            return blotted(value)
        case _:
            return value


def _entry(key: str, value: Any) -> Any:
    if isinstance(value, str):
        if key in _SEALED and value:
            return f"… ({len(value)} characters, sealed)"
        if key in _DATA and len(value) > _LONG and _BASE64.fullmatch(value):
            return f"… ({len(value)} characters of base64)"
    return redacted(value)
