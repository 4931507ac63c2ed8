"""What litellm's HTTP transport does and what it returns: no redirect, nothing compressed, and short error bodies.

All of litellm's clients share one transport. They would follow redirects and send the key and the prompt there; and
litellm looks for keys in the text of an error so slowly that a few megabytes of it stop the server for many seconds.
A few kilobytes of compressed text may be as much, so servers are asked not to compress, and nothing is decompressed.
No import of litellm here.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Final

from .error_chain import never_connected
from .taps import TAPS, AskTap

Pieces = AsyncIterator[bytes]

_begun: Final[ContextVar[list[bool] | None]] = ContextVar("am_proxy_requests_begun", default=None)

TRANSPORT: Final = "litellm.llms.custom_httpx.aiohttp_transport"
"""The module of litellm that holds it."""
MOST_OF_AN_ERROR: Final = 64 * 1024
"""Bytes of an error's body that are read."""
AT_ONCE: Final = 64 * 1024
"""Bytes of an answer that are read before other tasks have their turn."""


def note_requests() -> list[bool]:
    """A list that is not empty any more when this task has begun to send a request."""
    begun: list[bool] = []
    _begun.set(begun)
    return begun


def restrain(module: Any) -> None:
    """Make this module's transport ignore redirects, cut errors short and repeat requests that no server read."""
    import httpx  # noqa: PLC0415 — litellm's own library, which nothing needs without it

    class Body(httpx.AsyncByteStream):
        """A body as `read` gives it."""

        def __init__(
            self, whole: httpx.AsyncByteStream, read: Callable[[AsyncIterable[bytes]], Pieces], taps: Sequence[AskTap]
        ) -> None:
            self._whole = whole
            self._read = read
            self._taps = taps

        def __aiter__(self) -> Pieces:
            pieces = self._read(self._whole)
            return _followed(pieces, self._taps) if self._taps else pieces

        async def aclose(self) -> None:
            await self._whole.aclose()

    transport = getattr(module, "LiteLLMAiohttpTransport", None)
    if transport is None:  # a test checks that it exists
        return
    ask = transport.handle_async_request

    async def handle_async_request(self: Any, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "identity"
        answer: httpx.Response = await _sent(lambda: _with_body_in_pieces(ask, self, request))
        answer.headers.pop("location", None)  # without one it is an error like any other
        answer.headers.pop("content-encoding", None)  # without one it is not decompressed
        if isinstance(answer.stream, httpx.AsyncByteStream):
            is_error = answer.status_code >= HTTPStatus.MULTIPLE_CHOICES
            answer.stream = Body(answer.stream, _beginning if is_error else _in_turns, TAPS.get())
        return answer

    transport.handle_async_request = handle_async_request


async def _followed(pieces: Pieces, taps: Sequence[AskTap]) -> Pieces:
    """The same pieces, of which those are told that follow the ask."""
    async for piece in pieces:
        for tap in taps:
            tap.library_read(piece)
        yield piece


async def _beginning(pieces: AsyncIterable[bytes]) -> Pieces:
    """The beginning of a body."""
    left = MOST_OF_AN_ERROR
    async for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def _in_turns(pieces: AsyncIterable[bytes]) -> Pieces:
    """A whole body. What has come at once is read in turns with other tasks."""
    read = 0
    async for piece in pieces:
        yield piece
        read += len(piece)
        if read >= AT_ONCE:
            read = 0
            await asyncio.sleep(0)


async def _with_body_in_pieces(ask: Callable[[Any, Any], Awaitable[Any]], transport: Any, request: Any) -> Any:
    """Calls `ask` with a request whose large body is split into pieces; litellm passes the body on as it is."""
    from .litellm_connector import in_pieces  # noqa: PLC0415 — as below

    body = getattr(request, "_content", None)  # httpx has none where it was not read
    if not isinstance(body, bytes):
        return await ask(transport, request)
    request._content = in_pieces(body)  # noqa: SLF001 — a property shows it, which cannot be set
    try:
        return await ask(transport, request)
    finally:
        request._content = body  # noqa: SLF001 — as above


async def _sent(send: Callable[[], Awaitable[Any]]) -> Any:
    """What `send` returns. It is called again as `litellm_connector.sent` describes."""
    import httpx  # noqa: PLC0415 — as above

    from .litellm_connector import sent  # noqa: PLC0415 — as above

    if (begun := _begun.get()) is not None:
        begun.append(True)
    try:
        return await sent(send, lost=(httpx.TransportError,))
    except httpx.ConnectError as error:
        if never_connected(error):
            raise
        # litellm repeats a request after a connect error, but the server may have read this one
        raise httpx.ReadError("The connection was reset.") from error
