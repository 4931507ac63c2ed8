"""The acceptor of connections, on both event loops."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any, cast

import pytest
import uvloop

from app.transports.acceptor import AT_ONCE, PAUSE, Acceptor
from app.transports.connection_limits import ConnectionLimits
from app.transports.open_connections import OpenConnections

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


class Listener(socket.socket):
    """A listening socket whose `accept` fails so many times, in a row."""

    failures = 0
    tried = 0

    def accept(self) -> tuple[socket.socket, Any]:
        self.tried += 1
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


class Hello(asyncio.Protocol):
    """Says hello."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        writing = cast("asyncio.Transport", transport)  # uvloop's are of another class
        writing.write(b"hello")
        writing.close()


async def greeted(port: int) -> bytes:
    """What a client reads until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()


async def played(failures: int) -> tuple[list[bytes], int, bytes | None]:
    """What many clients and one that waited at the end read, and how often `accept` was tried in a pause."""
    with Listener() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(500)
        listener.failures = failures
        port = listener.getsockname()[1]
        acceptor = Acceptor(listener, Hello, OpenConnections(ConnectionLimits(9)), backlog=500)
        clients = [asyncio.create_task(greeted(port)) for _ in range(3 * AT_ONCE)]
        await asyncio.sleep(PAUSE / 2)
        tried = listener.tried
        read = await asyncio.gather(*clients)
        with socket.create_connection(("127.0.0.1", port), timeout=5) as waiting:
            acceptor.close()
            acceptor.close()
            await acceptor.wait_closed()
            await asyncio.sleep(0.01)
            waiting.settimeout(0)
            last = waiting.recv(99)
        with pytest.raises(ConnectionRefusedError):
            await greeted(port)
        return list(read), tried, last


@pytest.mark.parametrize("loop", LOOPS)
def test_it_accepts_many_and_at_its_end_those_who_wait(loop: str) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        read, _, last = runner.run(played(0))
    assert read == [b"hello"] * 3 * AT_ONCE
    assert last == b"hello"


@pytest.mark.parametrize("loop", LOOPS)
def test_without_a_file_it_tries_once_in_a_pause_and_then_goes_on(loop: str) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        read, tried, last = runner.run(played(2))
    assert read == [b"hello"] * 3 * AT_ONCE
    assert tried == 1
    assert last == b"hello"
