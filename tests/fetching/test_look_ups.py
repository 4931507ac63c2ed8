"""Slow names of one caller delay nobody else: neither other callers nor the names of upstreams."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.fetching.addresses import LOOK_UPS, CheckedAddresses, LookUps
from app.fetching.fetcher import Budget, Fetcher
from app.fetching.url_policy import is_public
from app.http_client.connection_errors import NoAddressError
from app.http_client.one_request import one_get
from app.off_loop import OWNER
from app.protocol.problems import ProblemError
from app.upstreams.http_server import HttpServer
from tests.wire.web_site import PNG, Site, page

ASYNCIO_THREADS = 2
MALLORY = "key:mallory"


class Names:
    """Scripted: names that begin with "slow" are found when `found` is set, others at once."""

    def __init__(self) -> None:
        self.found = threading.Event()
        self.running = self.most = self.names = 0
        self._lock = threading.Lock()

    def __call__(self, name: str, _port: int) -> Sequence[str]:
        with self._lock:
            self.running += 1
            self.names += 1
            self.most = max(self.most, self.running)
        try:
            if name.startswith("slow"):
                self.found.wait(20)
            if name.startswith("no"):
                raise socket.gaierror(-2, "Name or service not known")
            return ["127.0.0.1"]
        finally:
            with self._lock:
                self.running -= 1


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Names]:
    """What the system says of names; asyncio's own threads are few, as on a small machine."""
    scripted = Names()
    system = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        scripted(host, port)
        return system("127.0.0.1", port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(ASYNCIO_THREADS))
    try:
        yield scripted
    finally:
        scripted.found.set()


async def size_at(url: str) -> int:
    """The bytes that an upstream at this address answers."""
    server = HttpServer(url, api_key=None, timeout=5)
    try:
        answer = await server.ask(None)
        size = sum([len(piece) async for piece in answer])
        answer.release(complete=True)
        return size
    finally:
        await server.close()


async def looked_up(look_ups: LookUps, name: str, owner: str, patience: float = 5) -> Sequence[str]:
    OWNER.set(owner)
    async with asyncio.timeout(patience):
        return await look_ups(name, 80)


async def test_slow_names_delay_neither_other_callers_nor_upstreams(names: Names) -> None:
    look_ups = LookUps()

    async def fetched(name: str, owner: str, patience: float) -> str:
        OWNER.set(owner)
        fetcher = Fetcher(timeout=patience, allow_private=True, look_up=look_ups)
        try:
            return (await fetcher.fetch(f"http://{name}:{site.port}/it", "here", "image", Budget(99), owner)).kind
        except ProblemError as error:
            return error.problem.code

    with Site({"/it": page(PNG)}) as site:
        slow = [fetched(f"slow-{number}.example", MALLORY, 0.1) for number in range(2 * LOOK_UPS)]
        assert set(await asyncio.gather(*slow)) <= {"invalid_value", "rate_limit_exceeded"}
        assert 0 < names.running <= LOOK_UPS // 2
        assert await fetched("quick.example", "key:alice", 5) == "image/png"
        async with asyncio.timeout(5):
            assert await size_at(f"http://upstream.example:{site.port}/it") > 0
            assert await asyncio.to_thread(int) == 0


async def test_whoever_waits_no_longer_for_a_fetch_has_no_look_up_to_come(names: Names) -> None:
    """Those that have no thread yet would otherwise need one after the other, for nobody."""
    look_ups = LookUps(names)
    OWNER.set(MALLORY)

    async def fetched(number: int) -> None:
        async with one_get(f"http://slow-{number}.example/it", {}, 5, CheckedAddresses(is_public, look_ups)):
            pass

    tasks = [asyncio.create_task(fetched(number)) for number in range(2 * LOOK_UPS)]
    await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    asked = names.running
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    names.found.set()
    await asyncio.sleep(0.1)
    assert names.names == asked


async def test_names_of_upstreams_need_none_of_asyncios_threads(names: Names) -> None:
    """Litellm translates requests in these."""
    busy = [asyncio.create_task(asyncio.to_thread(names.found.wait, 20)) for _ in range(2 * ASYNCIO_THREADS)]
    with Site({"/it": page(PNG)}) as site:
        async with asyncio.timeout(5):
            assert await size_at(f"http://upstream.example:{site.port}/it") > 0
            with pytest.raises(NoAddressError):
                await size_at(f"http://nowhere.example:{site.port}/it")
    assert not any(task.done() for task in busy)
    names.found.set()
    await asyncio.gather(*busy)


async def test_a_look_up_keeps_its_slot_until_its_thread_ends() -> None:
    """Nobody waits for it any more, but it runs."""
    names = Names()
    look_ups = LookUps(names)
    for _ in range(2):
        tasks = [looked_up(look_ups, "slow.example", MALLORY, 0.05) for _ in range(2 * LOOK_UPS)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in found] == [TimeoutError] * len(tasks)
    assert names.running == LOOK_UPS // 2
    others = [looked_up(look_ups, "quick.example", f"key:{number}") for number in range(20)]
    assert await asyncio.gather(*others) == [["127.0.0.1"]] * len(others)
    assert names.most <= LOOK_UPS
    names.found.set()
    again = [looked_up(look_ups, "slow.example", MALLORY) for _ in range(2 * LOOK_UPS)]
    assert await asyncio.gather(*again) == [["127.0.0.1"]] * len(again)
    with pytest.raises(socket.gaierror):
        await looked_up(look_ups, "nowhere.example", MALLORY)
