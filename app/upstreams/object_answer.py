"""Reads an answer that is not streamed."""

import json
from typing import Any, Final

from .response_body import ResponseBody

LONGEST_WHOLE: Final = 64 * 1024 * 1024
"""Bytes of an answer that is not streamed."""


async def json_object(answer: ResponseBody) -> dict[str, Any] | None:
    """An answer that is one JSON object; None if it is anything else."""
    pieces: list[bytes] = []
    held = 0
    ended = False
    try:
        async for piece in answer:
            pieces.append(piece)
            held += len(piece)
            if held > LONGEST_WHOLE:
                return None
        ended = True
    finally:
        answer.release(complete=ended)
    try:
        decoded = json.loads(b"".join(pieces))
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None
