"""Redaction: removes secrets, sealed text and long data from what people watch or read in the log."""

import re
from typing import Any, Final

from ..json_text import json_bytes, json_value
from ..key_search import may_hold_secrets, redacted_line, redacted_member, without_header_values
from ..protocol.request.create_response import CreateResponse

LARGEST_IMAGE: Final = 512 * 1024
"""Characters of an image that the inspector keeps."""
_LONG: Final = 256
_SEALED: Final = {"encrypted_content", "signature", "thought_signature"}
_DATA: Final = {"file_data", "data", "result", "b64_json"}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_=\s-]{256,}")
_IMAGE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")

_LEFT_OUT: Final = re.compile(
    r'"(?:encrypted_content|(?:thought_)?signature)"\s*:\s*"(?!")'
    r'|"(?:file_data|data|result|b64_json)"\s*:\s*"[^"]{256}|"data:|"type"\s*:\s*"mcp"'
)
"""JSON that has none of these has nothing but secrets that is left out."""


def redacted(value: Any, *, images: bool = False) -> Any:
    """The same JSON, with short texts in place of what is left out. `images` are kept for the inspector only."""
    match value:
        case dict():
            is_made = images and value.get("type") == "image_generation_call"
            entries = without_header_values(value).items()
            return {_name(key): _entry(key, entry, images=images, is_made=is_made) for key, entry in entries}
        case list():
            return [redacted(entry, images=images) for entry in value]
        case str() if images and len(value) <= LARGEST_IMAGE and _IMAGE.fullmatch(value):
            return value
        case str() if value.startswith("data:") and len(value) > _LONG:
            head = value.partition(",")[0][:80]
            return f"{head},… ({len(value)} characters)"
        case str():
            return redacted_line(value)
        case _:
            return value


def redacted_json(raw: bytes, key: str = "") -> bytes:
    """The same JSON for the inspector; `key` is the name of the member whose value it is. Most need not be decoded."""
    if raw.isascii():
        text = raw.decode()
        is_plain = "\\u" not in text and not _LEFT_OUT.search(text) and key not in _SEALED and key not in _DATA
        if is_plain and not may_hold_secrets(f"{key}={text}"):
            return raw
    try:
        return json_bytes(_entry(key, json_value(raw), images=True))
    except (ValueError, RecursionError):
        return json_bytes({"left_out": f"… ({len(raw)} bytes that are not JSON)"})


def brief(request: CreateResponse, why: str) -> dict[str, Any]:
    """What is shown of a very long request: its size, and the reason if that is not the size."""
    left_out = {"model": request.model, "left_out": f"… ({request.size} bytes{why})"}
    return {"request": left_out, "ask": left_out}


def ask_left_out(size: int, why: str) -> dict[str, Any]:
    """An ask for the rest of a paused answer that is not shown: its size, and the reason if that is not the size."""
    return {"ask": {"left_out": f"… ({size} bytes{why})"}}


def _name(key: str) -> str:
    return key if key.replace("_", "").isalpha() else redacted_line(key)


def _entry(key: str, value: Any, *, images: bool = False, is_made: bool = False) -> Any:
    """A member. `is_made`: of an item with an image that the model has made."""
    if isinstance(value, str):
        if is_made and key == "result" and len(value) <= LARGEST_IMAGE and _BASE64.fullmatch(value):
            return value
        if key in _SEALED and value:
            return f"… ({len(value)} characters, sealed)"
        if key in _DATA and len(value) > _LONG and _BASE64.fullmatch(value):
            return f"… ({len(value)} characters of base64)"
    if (secret := redacted_member(key, value)) is not None:
        return secret
    return redacted(value, images=images)
