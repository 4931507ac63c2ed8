"""Small frames of a websocket: each costs the server as much as a long one."""

import asyncio
import logging
from contextlib import suppress

import pytest

from app.settings import Server, Settings
from app.transports.websocket_guard import BURST, RATE, SMALL, FrameBudget
from tests.support.serving import serving
from tests.wire.sockets import opened, text_of, upgraded

MANY = 200_000
PING = bytes([0x89, 0x80]) + bytes(4)
BEGINNING = bytes([0x01, 0x81]) + bytes(4) + b" "
SHORT = bytes([0x81, 0x82]) + bytes(4) + b"{}"
NO_UTF_8 = bytes([0x81, 0x82]) + bytes(4) + b"\xff\xff"
CONTINUATION = bytes([0x00, 0x81]) + bytes(4) + b" "


@pytest.mark.parametrize(
    ("sizes", "seconds", "allowed"),
    [
        ([SMALL] * (2 * BURST), 0, 2 * BURST),
        ([0] * (2 * BURST), 0, BURST),
        ([0] * (2 * BURST), 1, BURST + RATE),
        ([0] * (3 * BURST), 3600, 2 * BURST),
    ],
    ids=["long frames", "small ones at once", "and after a second", "and after an hour"],
)
def test_so_many_frames_may_come(sizes: list[int], seconds: float, allowed: int) -> None:
    """The time passes once the first ones are used up."""
    now = 0.0
    budget = FrameBudget(lambda: now)
    taken = 0
    for size in sizes:
        if not budget.take(size):
            now, seconds = now + seconds, 0
            if not budget.take(size):
                break
        taken += 1
    assert taken == pytest.approx(allowed, abs=2)


@pytest.mark.parametrize("first", [b"", BEGINNING], ids=["pings", "continuations"])
async def test_a_connection_of_many_small_frames_is_closed(first: bytes) -> None:
    """It is closed while its bytes come, and the connections of others go on."""
    frame = CONTINUATION if first else PING
    with serving(Settings()) as url:
        async with opened(url) as other:
            reader, writer = await upgraded(url)
            answer = b""
            async with asyncio.timeout(10):  # far less than a connection may be quiet
                with suppress(ConnectionError):
                    writer.write(first + frame * MANY)
                    await writer.drain()
                with suppress(ConnectionError):
                    answer = await reader.read(-1)
            writer.close()
            assert answer.count(b"\x8a\x00") <= BURST  # pongs
            assert text_of(await other.ask(model="demo", input="Hello!"))


@pytest.mark.parametrize("last", [b"", NO_UTF_8], ids=["many", "many, and one that is not UTF-8"])
async def test_a_connection_that_is_closed_for_its_frames_is_no_fault_of_the_server(
    last: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Its requests are still being refused when it is closed."""
    caplog.set_level(logging.INFO)
    with serving(Settings()) as url:
        for _ in range(5):
            reader, writer = await upgraded(url)
            with suppress(ConnectionError):
                writer.write(SHORT * (100 if last else MANY) + last)
                await writer.drain()
            answer = b""
            async with asyncio.timeout(10):
                with suppress(ConnectionError):
                    answer = await reader.read(-1)
            assert not last or b"\x03\xefa text message is not UTF-8" in answer
            writer.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_caller_whose_conversations_are_remembered_may_still_send_long_messages() -> None:
    server = Server(websocket_total_bytes=500_000, websocket_caller_bytes=500_000)
    with serving(Settings(server=server)) as url:
        async with opened(url) as one, opened(url) as other:
            await one.id_of(model="demo", input="x" * 450_000, generate=False)
            assert text_of(await other.ask(model="demo", input=f"Hello!{' ' * 300_000}"))
