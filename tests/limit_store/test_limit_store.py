"""What several copies count together, in a real Redis."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.limit_store import limit_store
from app.limit_store.store_batch import Decision
from tests.support.limit_stores import ask, copies, verdict
from tests.support.redis_server import RedisServer, redis_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture(autouse=True)
def patient_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store may be slow on a busy machine; none of these tests is about that."""
    monkeypatch.setattr(limit_store, "WAIT", 10)


@pytest.fixture
def redis(server: RedisServer) -> RedisServer:
    server.ask("FLUSHALL")
    return server


async def test_a_rate_is_one_for_all_copies_and_comes_back_evenly(redis: RedisServer) -> None:
    async with copies(redis.url, 3) as stores:
        began = time.monotonic()
        answers = [await ask(stores[index % 3], requests_per_minute=600).decided() for index in range(700)]
        came_back = (time.monotonic() - began) * 10
        admitted = sum(answer is not None and answer.verdict == "admitted" for answer in answers)
        last = answers[-1]
        assert last is not None
        assert (last.verdict, 0 < last.wait <= 0.1, last.used > 599) == ("rate", True, True)
        assert 600 <= admitted <= 601 + came_back
        began = time.monotonic()
        await asyncio.sleep(0.5)
        more = [await verdict(ask(stores[0], requests_per_minute=600)) for _ in range(100)]
        assert 4 <= more.count("admitted") <= 1 + (time.monotonic() - began) * 10


async def test_what_comes_at_once_is_decided_in_one_call(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_store, "REFRESH", 60)
    async with copies(redis.url) as (store,):
        before = calls_of(redis)
        leases = [ask(store, requests_per_minute=30, concurrency=50) for _ in range(100)]
        verdicts = Counter([await verdict(lease) for lease in leases])
        assert verdicts == {"admitted": 30, "rate": 70}
        assert calls_of(redis) - before == 1


async def test_turns_at_once_count_in_all_copies_until_they_end(redis: RedisServer) -> None:
    async with copies(redis.url, 2) as (first, second):
        leases = [ask(store, concurrency=3) for store in (first, second, first, second)]
        assert sorted([await verdict(lease) for lease in leases]) == ["admitted"] * 3 + ["concurrency"]
        for lease in leases:
            lease.give_back()
            lease.give_back()
        await told(first, second)
        again = [ask(first, concurrency=3) for _ in range(4)]
        assert [await verdict(lease) for lease in again] == ["admitted"] * 3 + ["concurrency"]


SHARED: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    ("all", [{"owner": f"key:{number}"} for number in range(5)], ["admitted"] * 4 + ["full"]),
    (
        "guests",
        [{"owner": f"guest:{number}", "is_guest": True} for number in range(3)],
        ["admitted", "admitted", "guests_full"],
    ),
    ("shares", [{"shares": True}] * 3, ["admitted", "admitted", "share"]),
    (
        "the next owner's share",
        [{"shares": True}, {"shares": True}, {"owner": "key:b", "shares": True}],
        ["admitted"] * 3,
    ),
    ("an own share", [{"concurrency": 3}] * 4, ["admitted"] * 3 + ["concurrency"]),
]


@pytest.mark.parametrize(("questions", "verdicts"), [row[1:] for row in SHARED], ids=[row[0] for row in SHARED])
async def test_the_turns_of_all_copies_are_shared_like_those_of_one(
    redis: RedisServer, questions: list[dict[str, Any]], verdicts: list[str]
) -> None:
    async with copies(redis.url, 2, max_turns=4) as stores:
        asked = [ask(stores[index % 2], **question) for index, question in enumerate(questions)]
        assert sorted([await verdict(lease) for lease in asked]) == sorted(verdicts)


async def test_a_copy_that_dies_no_longer_counts(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_store, "LEASE", 1.0)
    monkeypatch.setattr(limit_store, "REFRESH", 0.1)
    async with copies(redis.url, 2, max_turns=1) as (dying, other):
        assert await verdict(ask(dying, concurrency=1)) == "admitted"
        for _ in range(6):
            await asyncio.sleep(0.25)
            assert await verdict(ask(other, concurrency=1)) == "full"  # it is refreshed
        assert dying._keeper is not None
        dying._keeper.cancel()
        await asyncio.sleep(1.3)
        assert await verdict(ask(other, concurrency=1)) == "admitted"


async def test_a_copy_that_ends_no_longer_counts_at_once(redis: RedisServer) -> None:
    async with copies(redis.url) as (other,):
        async with copies(redis.url) as (ending,):
            assert await verdict(ask(ending, concurrency=1)) == "admitted"
            assert await verdict(ask(other, concurrency=1)) == "concurrency"
        assert await verdict(ask(other, concurrency=1)) == "admitted"


async def test_a_store_that_forgets_is_told_again(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_store, "REFRESH", 0.1)
    async with copies(redis.url, 2) as (first, second):
        assert await verdict(ask(first, concurrency=1)) == "admitted"
        redis.ask("FLUSHALL")
        redis.ask("SCRIPT", "FLUSH")
        async with asyncio.timeout(5):
            while not any(":count:" in name for name in redis.names()):  # noqa: ASYNC110 — no one tells
                await asyncio.sleep(0.01)
        assert await verdict(ask(second, concurrency=1)) == "concurrency"
        assert (first.outages.number, second.outages.number) == (0, 0)


async def test_a_turn_that_ends_while_it_waits_for_the_decision_counts_no_longer(redis: RedisServer) -> None:
    async with copies(redis.url, 2) as (first, second):
        ask(first, concurrency=1).give_back()
        await told(first)
        assert await verdict(ask(second, concurrency=1)) == "admitted"


async def test_what_a_process_has_counted_alone_is_not_forgotten(redis: RedisServer) -> None:
    async with copies(redis.url) as (store,):
        assert await ask(store, requests_per_minute=60, used=30).decided() == Decision("admitted", 0, 31)
        assert await ask(store, requests_per_minute=60, used=10_000).decided() == Decision("rate", 1, 60)
        assert await verdict(ask(store, requests_per_minute=60)) == "rate", "it is told once"


async def test_copies_with_another_prefix_count_for_themselves_and_no_caller_is_named(redis: RedisServer) -> None:
    async with copies(redis.url) as (store,), copies(redis.url, prefix="other") as (other,):
        verdicts = [await verdict(ask(each, requests_per_minute=1, concurrency=1)) for each in (store, other)]
        names = redis.names()
    assert verdicts == ["admitted", "admitted"]
    assert {name.partition(":")[0] for name in names} == {"{am-proxy}", "{other}"}
    assert not any("alice" in name for name in names)


async def test_nothing_stays_in_the_store(redis: RedisServer) -> None:
    """Every name has a time after which the store forgets it."""
    async with copies(redis.url, max_turns=5) as (store,):
        for number in range(20):
            await ask(store, f"guest:{number}", requests_per_minute=1, is_guest=True).decided()
        assert [redis.ask("PTTL", name) for name in redis.names() if redis.ask("PTTL", name).startswith(":-")] == []


def calls_of(redis: RedisServer) -> int:
    """How often the script was run."""
    found = [line for line in redis.ask("INFO", "commandstats").split("\r\n") if line.startswith("cmdstat_evalsha:")]
    return int(found[0].partition("calls=")[2].partition(",")[0]) if found else 0


async def told(*stores: limit_store.LimitStore) -> None:
    """Waits until the store knows all counts."""
    async with asyncio.timeout(5):
        while any(store._calls is not None or store._changed for store in stores):  # noqa: ASYNC110 — no one tells
            await asyncio.sleep(0.005)


def test_the_script_is_part_of_the_package() -> None:
    assert Path(limit_store.__file__).with_name("admit.lua").exists()
