"""Work for a client that has hung up ends; everything else about it is as without."""

import asyncio
import gc
import weakref
from typing import Any

import pytest

from app.transports.body_writer import CYCLE
from app.transports.leaving import client_left
from app.transports.receiving import UntilDisconnect
from app.turns.lifecycle import ClientGoneError


class Client:
    """A connection that hangs up on command."""

    def __init__(self) -> None:
        self.hung_up = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}


def listening(client: Client) -> UntilDisconnect:
    until = UntilDisconnect({"state": {}}, client.receive)
    until.listen()
    return until


async def test_work_for_a_client_that_hangs_up_is_cancelled_where_it_stands() -> None:
    client = Client()
    asyncio.get_running_loop().call_later(0.01, client.hung_up.set)
    with pytest.raises(ClientGoneError):
        async with listening(client):
            await asyncio.sleep(60)
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_work_that_ends_first_is_not_touched_when_the_client_hangs_up_later() -> None:
    client = Client()
    async with listening(client):
        await asyncio.sleep(0)
        client.hung_up.set()
    await asyncio.sleep(0.01)


async def test_work_that_fails_fails_with_its_own_error() -> None:
    with pytest.raises(KeyError):
        async with listening(Client()):
            raise KeyError


async def test_work_that_is_cancelled_elsewhere_is_cancelled() -> None:
    async def work() -> None:
        async with listening(Client()):
            await asyncio.sleep(60)

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_a_client_that_hung_up_before_is_noticed_at_the_first_wait() -> None:
    client = Client()
    client.hung_up.set()
    with pytest.raises(ClientGoneError):
        async with listening(client):
            await asyncio.sleep(60)


async def test_nothing_is_left_for_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        client = Client()
        async with listening(client):
            await asyncio.sleep(0)
        kept = weakref.ref(client)
        del client
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()


class Cycle:
    """A request as a connection of our own server holds it."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {"state": {CYCLE: weakref.ref(self)}}
        self.disconnected = False
        self.message_event = asyncio.Event()
        self.flow = self
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


async def test_a_server_that_tells_it_is_not_asked_by_a_task() -> None:
    cycle: Any = Cycle()
    until = UntilDisconnect(cycle.scope, Client().receive)
    until.listen()
    assert cycle.is_read, "otherwise nobody would see that the client leaves after a long body"
    assert len(asyncio.all_tasks()) == 1
    asyncio.get_running_loop().call_soon(client_left, cycle)
    with pytest.raises(ClientGoneError):
        async with until:
            await asyncio.sleep(60)
    assert cycle.disconnected
    assert cycle.message_event.is_set()
    assert list(cycle.scope["state"]) == [CYCLE], "the turn is not kept"


async def test_a_client_that_leaves_after_the_work_does_not_end_what_follows() -> None:
    cycle: Any = Cycle()
    until = UntilDisconnect(cycle.scope, Client().receive)
    until.listen()
    async with until:
        await asyncio.sleep(0)
    client_left(cycle)
    await asyncio.sleep(0.01)
