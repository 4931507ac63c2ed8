"""Reading what a client posts: bounded, and only JSON."""

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.protocol.problems import refuse


class ClientGoneError(Exception):
    """The client hung up; there is nobody to answer."""


async def read_json_body(request: Request, limit: int) -> bytes:
    """The body. Raises `ProblemError` if it is no JSON by its own account, encoded, or longer than `limit` bytes."""
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
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                raise too_large
            pieces.append(piece)
    except ClientDisconnect:
        raise ClientGoneError from None
    return b"".join(pieces)
