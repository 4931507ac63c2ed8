"""Who waits for a client that reads too slowly, and what stands in for uvicorn's events and queue."""

import asyncio
from typing import Any

from app.transports.reading_control import MessageEvent, ReadingControl, ShortQueue


async def begun(*tasks: asyncio.Task[Any]) -> list[bool]:
    """Which of these have ended after all could go on."""
    for _ in range(3):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


async def test_whoever_writes_waits_until_the_client_reads_again() -> None:
    transport: Any = object()
    control = ReadingControl(transport, [])
    await asyncio.wait_for(control.drain(), 1)
    for _ in range(2):
        control.pause_writing()
        control.pause_writing()
        tasks = [asyncio.create_task(control.drain()) for _ in range(2)]
        assert (control.write_paused, await begun(*tasks)) == (True, [False, False])
        control.resume_writing()
        assert (control.write_paused, await begun(*tasks)) == (False, [True, True])
        await asyncio.wait_for(control.drain(), 1)


async def test_an_event_lets_all_go_on_until_it_is_cleared() -> None:
    event = MessageEvent(is_set=True)
    await asyncio.wait_for(event.wait(), 1)
    event.clear()
    given_up, waiting = (asyncio.create_task(event.wait()) for _ in range(2))
    assert await begun(given_up, waiting) == [False, False]
    given_up.cancel()
    assert await begun(given_up, waiting) == [True, False]
    event.set()
    assert (await begun(waiting), event.is_set(), event._waiters) == ([True], True, [])


def test_a_queue_gives_back_what_came_first() -> None:
    queue = ShortQueue()
    queue.appendleft("first")
    queue.appendleft("second")
    assert [queue.pop(), queue.pop(), bool(queue)] == ["first", "second", False]
