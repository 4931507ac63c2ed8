"""Many frames at once on one websocket: between a few of them all other connections have their turn."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from app.transports.websocket_connection import Connection
from app.transports.websocket_guard import AT_ONCE, SHORT_SLICE, SLICE, WebSocketGuard
from tests.support.serving import serving
from tests.wire.sockets import opened, text_of, upgraded

MASK = bytes(4)
MANY = 1_900
"""Fewer than end the connection."""


def frame(kind: int, content: bytes) -> bytes:
    """A frame of a client, of up to 65,535 bytes."""
    head = bytes([kind, 0x80 | len(content)]) if len(content) < 126 else bytes([kind, 0xFE, *len(content).to_bytes(2)])
    return head + MASK + content


PING = frame(0x89, b"")
SHORT = frame(0x81, b"{}")
FRAGMENT = frame(0x00, b" ")
LONG_FRAGMENT = frame(0x00, b" " * 1100)
"""Too long to count as a small frame."""


class Rounds:
    """Counts what happens in each round of the server's event loop."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._number = 0
        self.frames: Counter[int] = Counter()
        self.messages: Counter[int] = Counter()

    def note(self, counter: Counter[int]) -> None:
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
            self._tick()
        counter[self._number] += 1

    def _tick(self) -> None:
        assert self.loop is not None
        self._number += 1
        if not self.loop.is_closed():
            self.loop.call_soon(self._tick)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    result = Rounds()
    count, arrived = WebSocketGuard._count, Connection._arrived

    def counted(guard: WebSocketGuard, size: int) -> None:
        result.note(result.frames)
        count(guard, size)

    async def noted(connection: Connection, *args: Any) -> None:
        result.note(result.messages)
        await arrived(connection, *args)

    monkeypatch.setattr(WebSocketGuard, "_count", counted)
    monkeypatch.setattr(Connection, "_arrived", noted)
    return result


@pytest.mark.parametrize(
    ("first", "many"),
    [
        (b"", PING * MANY),
        (b"", SHORT * MANY),
        (frame(0x01, b" "), FRAGMENT * MANY),
        (frame(0x01, b" "), LONG_FRAGMENT * MANY),
    ],
    ids=["pings", "messages", "fragments", "long fragments"],
)
async def test_others_have_their_turn_between_a_few_frames(rounds: Rounds, first: bytes, many: bytes) -> None:
    with serving() as url:
        async with opened(url) as other:
            reader, writer = await upgraded(url)
            reading = asyncio.create_task(reader.read(-1))
            writer.write(first + many)
            await writer.drain()
            for _ in range(200):
                assert text_of(await other.ask(model="demo", input="Hello!"))
                if rounds.frames.total() > MANY:
                    break
            writer.close()
            with suppress(ConnectionError):
                await reading
    assert rounds.frames.total() > MANY
    shortest = min(len(PING), len(SHORT), len(FRAGMENT))
    assert max(rounds.frames.values()) <= AT_ONCE + SHORT_SLICE // shortest
    assert max(rounds.messages.values()) <= 2, "one of each connection"


async def test_a_long_message_is_not_parsed_in_short_slices(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice that ends no frame is followed by a longer one."""
    read, sizes = WebSocketGuard._read, list[int]()

    def noted(guard: WebSocketGuard, data: bytes) -> None:
        sizes.append(len(data))
        read(guard, data)

    monkeypatch.setattr(WebSocketGuard, "_read", noted)
    with serving() as url:
        async with opened(url) as client:
            assert text_of(await client.ask(model="demo", input=f"Hello!{' ' * 3_000_000}"))
    assert max(sizes) == SLICE
    assert len(sizes) < 3_000_000 / SLICE * 2
    assert rounds.messages.total() == 1
