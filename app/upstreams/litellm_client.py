"""The HTTP clients that litellm asks with. None follows a redirect: a key could be sent to the new address.

Importing it imports litellm: `litellm_body.load` comes first.
"""

import re
from collections.abc import AsyncIterator

import httpx
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

from ..dialects.frames import Lines

_NEVER = 86_400.0
"""Seconds: all clocks but that of connecting are the turn's."""
_REASON = re.compile(rb'"finishReason"\s*:\s*"([A-Z_]{1,60})"')


def client(connect: float = 5) -> AsyncHTTPHandler:
    """A client that connects within so many seconds, where litellm does not say it."""

    async def ask_so(request: httpx.Request) -> None:
        request.headers["accept-encoding"] = "identity"
        limits = request.extensions["timeout"]
        if limits["connect"] == _NEVER:  # for most providers litellm knows one limit for everything
            limits["connect"] = connect

    return AsyncHTTPHandler(
        timeout=httpx.Timeout(_NEVER, connect=connect),
        event_hooks={"request": [ask_so], "response": [_note_reasons]},
        follow_redirects=False,
    )


async def _note_reasons(response: httpx.Response) -> None:
    """Of a Gemini, note the finish reasons that it gives itself: litellm tells only what they are called elsewhere."""
    is_plain = "content-encoding" not in response.headers
    if response.is_success and is_plain and response.url.path.endswith(":streamGenerateContent"):
        reasons = response.extensions["finish_reasons"] = list[str]()
        response.stream = _GeminiStream(response.stream, reasons)


class _GeminiStream(httpx.AsyncByteStream):
    """A stream of Gemini in whole lines."""

    def __init__(self, stream: httpx.SyncByteStream | httpx.AsyncByteStream, reasons: list[str]) -> None:
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 — the client is one
        self._stream = stream
        self._reasons = reasons

    async def __aiter__(self) -> AsyncIterator[bytes]:
        lines = Lines()
        async for piece in self._stream:
            for line in lines.feed(piece):
                yield self._noted(line)
        for line in lines.feed(b"\n"):  # the last one may have no end
            yield self._noted(line)

    def _noted(self, line: bytes) -> bytes:
        self._reasons += map(bytes.decode, _REASON.findall(line))  # in a text its quotes would be escaped
        for separator in ("\u0085", "\u2028", "\u2029"):  # there httpx would end a line
            line = line.replace(separator.encode(), b"\\u%04x" % ord(separator))
        return line + b"\n"

    async def aclose(self) -> None:
        await self._stream.aclose()
