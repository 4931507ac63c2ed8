"""JSON as bytes, whatever is in it."""

import json
from typing import Any, Final

import msgspec

_encoder: Final = msgspec.json.Encoder()


def json_bytes(told: Any) -> bytes:
    """As JSON. Half of a character in UTF-16, which JSON can say and UTF-8 cannot, leaves as the escape it came as."""
    try:
        return _encoder.encode(told)
    except UnicodeEncodeError:
        return json.dumps(told, separators=(",", ":")).encode()
