"""An HTTP server that sends exactly the bytes that a test gives, and notes what it was sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection."""
END: Final = b"\r\n\r\n"


class RawUpstream:
    """A server on this machine."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}/v1/it"
        self.heads: list[bytes] = []
        """Of each request."""
        self.connections = 0


@asynccontextmanager
async def raw_upstream(
    *pieces: bytes, play: Play | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawUpstream]:
    """Answers each request with these pieces; an empty one ends the connection. `play` serves in another way."""
    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there.connections += 1
        task = asyncio.current_task()
        serving.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await (_answer(reader, writer, pieces, there) if play is None else play(reader, writer))
        finally:
            serving.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=1 << 24)
    there = RawUpstream(server.sockets[0].getsockname()[1], "http" if tls is None else "https")
    try:
        yield there
    finally:
        server.close()
        for task in list(serving):
            assert task is not None
            task.cancel()
            await asyncio.wait([task])


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head and the body of the next request."""
    head = await reader.readuntil(END)
    lines = [line.split(b": ", 1) for line in head.split(b"\r\n")]
    size = next((int(line[1]) for line in lines if line[0] == b"content-length"), 0)
    return head, await reader.readexactly(size)


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: tuple[bytes, ...], there: RawUpstream
) -> None:
    while True:
        there.heads.append((await read_request(reader))[0])
        for piece in pieces:
            if not piece:
                return
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
