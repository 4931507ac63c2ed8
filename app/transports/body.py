"""Reading what a client posts: bounded, and only JSON."""

import asyncio
from typing import Final

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.protocol.problems import refuse

SLOWEST: Final = 1024
"""Bytes a second below which a body is not waited for, once its patience is used up."""


class ClientGoneError(Exception):
    """The client hung up; there is nobody to answer."""


async def read_json_body(request: Request, limit: int, patience: float) -> bytes:
    """The body. Raises `ProblemError` if it is no JSON by its own account, encoded, or longer than `limit` bytes.

    Also if nothing of it came for `patience` seconds, or if it comes at a trickle for longer than that.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise refuse("unsupported_media_type", "Send JSON, with the header `Content-Type: application/json`.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise refuse("unsupported_media_type", "Send the body as it is, without a Content-Encoding.")
    too_large = refuse("request_too_large", f"The body is longer than the {limit} bytes this server reads.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    pieces: list[bytes] = []
    size = 0
    now = asyncio.get_running_loop().time
    began = now()
    try:
        async with asyncio.timeout(patience) as clock:
            async for piece in request.stream():
                size += len(piece)
                if size > limit:
                    raise too_large
                pieces.append(piece)
                clock.reschedule(min(now() + patience, began + patience + size / SLOWEST))
    except TimeoutError:
        raise refuse("request_timeout", f"The body took too long: {size} bytes of it have come.") from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return b"".join(pieces)
