"""What litellm's HTTP transport may bring home: no redirect, and of an error no more than is worth reading.

All of litellm's clients share one transport. They would go where an upstream sends them, key and prompt in hand; and
litellm looks for keys in the text of an error so slowly that a few megabytes of it stop the server for many seconds.
No import of litellm here.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any, Final

TRANSPORT: Final = "litellm.llms.custom_httpx.aiohttp_transport"
"""The module of litellm that holds it."""
MOST_OF_AN_ERROR: Final = 64 * 1024
"""Bytes of an error's body that are read."""


def restrain(module: Any) -> None:
    """Have this module's transport forget where an answer leads, and cut errors short."""
    import httpx  # noqa: PLC0415 — litellm's own library, which nothing needs without it

    class Beginning(httpx.AsyncByteStream):
        """The beginning of a body."""

        def __init__(self, whole: httpx.AsyncByteStream) -> None:
            self._whole = whole

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_OF_AN_ERROR
            async for piece in self._whole:
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await self._whole.aclose()

    transport = getattr(module, "LiteLLMAiohttpTransport", None)
    if transport is None:  # a test sees to it that it is there
        return
    ask = transport.handle_async_request

    async def handle_async_request(self: Any, request: httpx.Request) -> httpx.Response:
        answer: httpx.Response = await ask(self, request)
        answer.headers.pop("location", None)  # without one it is an error like any other
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES and isinstance(answer.stream, httpx.AsyncByteStream):
            answer.stream = Beginning(answer.stream)
        return answer

    transport.handle_async_request = handle_async_request
