"""Circuit breakers that copies share: what opens in one is open in all, and closes in all."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.limit_store import limit_store
from app.limit_store.limit_store import LimitStore
from app.limit_store.store_batch import StoreBatch, arguments_of, keys_of, read_reply
from app.limit_store.store_connection import StoreConnection
from app.settings import SharedLimits
from app.upstreams.breaker import Breaker
from tests.support.limit_stores import copies
from tests.support.redis_server import redis_server

pytestmark = pytest.mark.needs("redis-server")


@pytest.fixture(autouse=True)
def patient_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store may be slow on a busy machine; none of these tests is about that."""
    monkeypatch.setattr(limit_store, "WAIT", 10)


def breakers(*stores: LimitStore, pause: float = 30) -> list[Breaker]:
    """One of each copy for the same upstream."""
    made = [Breaker("u", failures=2, pause=pause) for _ in stores]
    for store, breaker in zip(stores, made, strict=True):
        store.breakers.watch({"u": breaker, "other": Breaker("other", failures=2)})
    return made


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 — nobody tells
            await asyncio.sleep(0.01)


async def opened(*stores: LimitStore, pause: float = 30) -> list[Breaker]:
    """Those of two copies, after the first one has opened its own and the second has heard of it."""
    first, second = breakers(*stores, pause=pause)
    for _ in range(2):
        first.failure(kind="unreached")
    await until(lambda: second.is_open)
    return [first, second]


async def test_one_that_opens_or_closes_does_so_in_all_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_store, "REFRESH", 0.05)
    with redis_server(tmp_path) as redis:
        async with copies(redis.url, 2) as stores:
            first, second = await opened(*stores, pause=2)
            assert 0 < second.allow() <= 2
            other = stores[1].breakers._breakers.values()
            assert [breaker.open_for is not None for breaker in other] == [True, False]
            await asyncio.sleep(2.3)
            assert second.allow() == 0, "one may try"
            await asyncio.sleep(0.2)
            assert second.state == "half-open", "what the others say does not end its try"
            second.success()
            await until(lambda: not first.is_open)
            await asyncio.sleep(0.2)
            assert (first.state, second.state) == ("closed", "closed")


async def test_a_failed_try_of_one_copy_prolongs_the_pause_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_store, "REFRESH", 0.05)
    with redis_server(tmp_path) as redis:
        async with copies(redis.url, 2) as stores:
            first, second = await opened(*stores, pause=1.5)
            await asyncio.sleep(1.9)
            assert first.allow() == 0
            first.failure(kind="unreached")
            await asyncio.sleep(0.3)
            assert second.allow() > 0


async def test_a_pause_is_not_prolonged_when_the_store_is_found_again(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        async with copies(redis.url, 2) as stores:
            began = time.monotonic()
            first, second = await opened(*stores)
            await asyncio.sleep(1.5)
            redis.ask("CLIENT", "KILL", "TYPE", "normal")
            await until(lambda: all(store.connections == 2 and store.reachable for store in stores))
            await until(lambda: not any(store.breakers.news for store in stores))
            await asyncio.sleep(0.2)
            left = 30 - (time.monotonic() - began)
            assert left - 0.5 < first.allow() < left + 0.5
            assert left - 0.5 < second.allow() < left + 0.5


async def test_a_store_that_forgets_everything_does_not_close_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_store, "REFRESH", 0.05)
    with redis_server(tmp_path) as redis:
        async with copies(redis.url, 2) as stores:
            first, second = await opened(*stores)
            redis.ask("FLUSHALL")
            await until(lambda: "{am-proxy}:breakers" in redis.names())
            await asyncio.sleep(0.3)
            assert (first.is_open, second.is_open) == (True, True)


TOLD: list[tuple[str, float | None, float | None, float | None]] = [
    ("for the first time", None, 5, 5),
    ("opened again", 5, 2, 2),
    ("an older opening", 2, 5, 2),
    ("one by a clock that was ahead", -100, 5, 0),
    ("closed", 5, None, None),
]


@pytest.mark.parametrize(("known", "told", "heard"), [row[1:] for row in TOLD], ids=[row[0] for row in TOLD])
async def test_of_several_openings_the_last_one_counts(
    known: float | None, told: float | None, heard: float | None, tmp_path: Path
) -> None:
    """`known`, `told`, `heard`: seconds since then."""
    settings = SharedLimits(store="redis://127.0.0.1")
    batch = StoreBatch({}, (), {"u": told})
    with redis_server(tmp_path) as redis:
        if known is not None:
            redis.ask("HSET", "{am-proxy}:breakers", "u", str((time.time() - known) * 1000))
        connection = StoreConnection(settings.model_copy(update={"store": redis.url}))
        await connection.open()
        reply = await connection.run(keys_of(settings.prefix, batch), arguments_of(batch, "me", 10, 0, (0, 0)))
        await connection.close()
    open_for = read_reply(reply, 0).open_for
    assert open_for == ({} if heard is None else {"u": pytest.approx(heard, abs=1.5)})


async def test_one_that_opens_without_the_store_is_told_later(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        port = redis.port
        async with copies(redis.url, 2) as stores:
            redis.process.kill()
            redis.process.wait(5)
            await until(lambda: not any(store.reachable for store in stores))
            first, second = breakers(*stores)
            for _ in range(2):
                first.failure(kind="unreached")
            assert (first.is_open, second.is_open) == (True, False)
            with redis_server(tmp_path, port=port):
                await until(lambda: second.is_open)
                assert first.is_open
