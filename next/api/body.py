"""The body of a request: bounded in bytes and in time."""

import asyncio
import contextlib

from starlette.types import Receive

from ..types.problems import refuse
from .auth import Headers

_TIME = 30
"""Seconds for a body to arrive."""
_LINGER = 2
"""Seconds in which a body that nobody wants is read and dropped: who still sends reads no answer."""


class LeftError(Exception):
    """The client has left before its request was complete."""


async def read_body(receive: Receive, headers: Headers, most: int) -> bytes:
    """The whole body. Raises `ProblemError` for one that is too long or too slow."""
    given = dict(headers)
    if given.get(b"content-encoding", b"identity") != b"identity":
        await drop_body(receive)
        raise refuse("unsupported_encoding", "Send the body as it is: this edition decodes none yet.")
    length = given.get(b"content-length", b"0")
    fits = not (length.isdigit() and int(length) > most)
    body = bytearray()
    more = True
    try:
        async with asyncio.timeout(_TIME):
            while fits and more:
                piece, more = await _piece(receive)
                body += piece
                fits = len(body) <= most
    except TimeoutError:
        raise refuse("request_timeout", f"The body did not arrive within {_TIME} seconds.") from None
    if fits:
        return bytes(body)
    if more:
        await drop_body(receive)
    raise refuse("request_too_large", f"The body is longer than the {most} bytes this server reads.")


async def drop_body(receive: Receive) -> None:
    """Reads a body that nobody wants, for a moment: behind it the connection can be used again."""
    with contextlib.suppress(TimeoutError, LeftError):
        async with asyncio.timeout(_LINGER):
            while (await _piece(receive))[1]:
                pass


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise LeftError
    return message.get("body", b""), message.get("more_body", False)
