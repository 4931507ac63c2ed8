"""A store that cannot be used: turns go on by the limits of each process, and the store is found again by itself."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.limit_store import limit_store
from app.limit_store.limit_store import LimitStore
from app.protocol.problems import ProblemError
from app.settings import Key
from app.turns.limits import Limits
from tests.deploy.balancers import free_port
from tests.support.limit_stores import ask, copies, verdict
from tests.support.redis_server import redis_server

PASSWORD = ("--requirepass", "right")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says about the store, without its address."""
    lines = [record.__dict__["words"] for record in caplog.records if record.msg == "limit store"]
    return [line.split("redis://127.0.0.1:")[1].partition(" ")[2] for line in lines]


async def reached(store: LimitStore) -> None:
    """Waits until the store is used again."""
    async with asyncio.timeout(10):
        while not store.reachable:  # noqa: ASYNC110 — nobody tells
            await asyncio.sleep(0.01)


@pytest.mark.needs("redis-server")
async def test_a_store_that_is_killed_and_comes_back_is_used_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as redis:
        async with copies(redis.url) as (store,):
            assert await verdict(ask(store, concurrency=2)) == "admitted"
            redis.process.kill()
            redis.process.wait(5)
            began = time.monotonic()
            assert [await verdict(ask(store, concurrency=2)) for _ in range(100)] == ["alone"] * 100
            assert time.monotonic() - began < 5  # if each had waited for the store, it would be ten
            with redis_server(tmp_path, port=redis.port):
                await reached(store)
                assert await verdict(ask(store, concurrency=200)) == "admitted"
                assert await verdict(ask(store, concurrency=102)) == "concurrency", "what it counted alone"
    lines = said(caplog)
    assert lines[0] == "cannot be reached. Each process applies its own limits until that changes"
    assert [line.partition(",")[0] for line in lines[1:2]] == ["can be used again"]


@pytest.mark.needs("redis-server")
async def test_a_store_that_hangs_holds_each_turn_for_a_tenth_of_a_second_at_most(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as redis:
        async with copies(redis.url) as (store,):
            redis.freeze()
            began = time.monotonic()
            assert [await verdict(lease) for lease in [ask(store, concurrency=1) for _ in range(300)]] == [
                "alone"
            ] * 300
            assert 0.08 <= time.monotonic() - began < 2  # one after the other would take thirty
            began = time.monotonic()
            for _ in range(100):
                assert ask(store, concurrency=1).is_decided  # at once, from now on
                await asyncio.sleep(0.01)
            redis.process.send_signal(signal.SIGCONT)
            await reached(store)
    assert [line.partition(".")[0].partition(",")[0] for line in said(caplog)][:2] == [
        "does not answer in time",
        "can be used again",
    ]


@pytest.mark.needs("redis-server")
async def test_an_answer_that_this_process_was_too_busy_to_read_is_no_outage(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        async with copies(redis.url) as (store,):
            lease = ask(store, concurrency=1)
            await asyncio.sleep(0)  # the question is sent
            await asyncio.sleep(0)
            time.sleep(0.3)  # noqa: ASYNC251 — long work on the event loop
            assert await verdict(lease) == "admitted"


REFUSING: list[tuple[str, tuple[str, ...], str, str]] = [
    ("it needs a password", PASSWORD, "", "needs a password"),
    ("a wrong password", PASSWORD, "wrong", "refuses the password"),
    ("it is full", ("--maxmemory", "1mb", "--maxmemory-policy", "noeviction"), "", "is full"),
    ("a replica", ("--replicaof", "127.0.0.1 1"), "", "is a read-only replica"),
]


@pytest.mark.needs("redis-server")
@pytest.mark.parametrize(
    ("options", "password", "reason"), [row[1:] for row in REFUSING], ids=[row[0] for row in REFUSING]
)
async def test_the_log_says_why_a_store_cannot_be_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: tuple[str, ...], password: str, reason: str
) -> None:
    with redis_server(tmp_path, *options) as redis:
        async with copies(redis.url, password=password) as (store,):
            assert [await verdict(ask(store, concurrency=1)) for _ in range(3)] == ["alone"] * 3
            await asyncio.sleep(0.7)  # it tries again, and says nothing new
    assert [record.__dict__["fields"]["cause"] for record in caplog.records if record.msg == "limit store"] == [reason]
    assert said(caplog) == [f"{reason}. Each process applies its own limits until that changes"]


@pytest.mark.needs("redis-server")
async def test_the_right_password_is_accepted(tmp_path: Path) -> None:
    with redis_server(tmp_path, *PASSWORD) as redis:
        async with copies(redis.url, password="right") as (store,):
            assert await verdict(ask(store, concurrency=1)) == "admitted"


@pytest.mark.needs("redis-server")
async def test_a_store_that_becomes_full_is_left_and_found_again(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        async with copies(redis.url) as (store,):
            assert await verdict(ask(store, concurrency=1)) == "admitted"
            redis.ask("CONFIG", "SET", "maxmemory", "1")
            assert await verdict(ask(store, concurrency=1)) == "alone"
            redis.ask("CONFIG", "SET", "maxmemory", "0")
            await reached(store)
            assert await verdict(ask(store, concurrency=1)) == "concurrency"


NONSENSE = [
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"*1\r\n" * 5000,
    b":5\r\n",
    b"\xff\xfe\r\n",
    b"$-5\r\n",
    b"*-9\r\n",
    b"",
]
"""What something else than a store may answer; empty: it closes the connection."""


@contextmanager
def talker(answer: bytes) -> Iterator[int]:
    """A server that answers everything with this; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer", NONSENSE)
async def test_a_server_that_answers_nonsense_is_not_a_store(answer: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with talker(answer) as port:
        async with copies(f"redis://127.0.0.1:{port}") as (store,):
            assert await verdict(ask(store, concurrency=1)) == "alone"
    assert len(said(caplog)) == 1


class Odd:
    """A connection whose script returns this if it is asked about a turn."""

    def __init__(self, value: object) -> None:
        self._value = value

    async def open(self) -> None: ...

    async def run(self, _: object, arguments: Sequence[str]) -> object:
        return [0, [], []] if arguments[6] == "0" else self._value

    async def leave(self, *_: object) -> None: ...

    async def close(self) -> None: ...


ODD: list[object] = [
    None,
    5,
    [0, [], []],
    [0, [9, 0, 0], []],
    [0, [0, -1, 0], []],
    [0, ["0", 0, 0], []],
    [0, [0, 0, 0], [b"x"]],
    [0, [0, 0, 0], [1, 1]],
    [2, [0, 0, 0], []],
]


@pytest.mark.parametrize("value", ODD)
async def test_a_reply_of_another_form_is_not_believed(value: object) -> None:
    async with copies("redis://127.0.0.1:1") as (unused,):
        store = LimitStore(unused.options, Odd(value))
        store.hold()
        await store.start()
        assert store.reachable
        assert await verdict(ask(store, concurrency=1)) == "alone"
        assert (store.reachable, store.outages.number) == (False, 1)
        await store.close()


async def test_pauses_between_tries_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_store, "FIRST_PAUSE", 0.02)
    async with copies(f"redis://127.0.0.1:{free_port()}") as (store,):
        tries = 0
        connect = store._connect

        async def counted() -> None:
            nonlocal tries
            tries += 1
            await connect()

        monkeypatch.setattr(store, "_connect", counted)
        await asyncio.sleep(1)
        assert 3 <= tries <= 7


@pytest.mark.needs("redis-server")
async def test_without_its_store_a_process_applies_its_own_limits(tmp_path: Path) -> None:
    """Also to turns that were waiting for the store."""
    key = Key("alice", b"a", requests_per_minute=5, concurrency=3)
    with redis_server(tmp_path) as redis:
        async with copies(redis.url) as (store,):
            limits = Limits(100)
            limits.follow(100, shared=False, store=store)
            redis.freeze()
            waiting = [limits.admit(key) for _ in range(4)]
            codes = []
            for slot in waiting:
                assert slot.shared is not None
                try:
                    await slot.shared.decided()
                except ProblemError as error:
                    codes.append(error.problem.code)
                    slot.give_back()
            assert codes == ["rate_limit_exceeded"]
            with pytest.raises(ProblemError, match="may run 3 requests at once"):
                limits.admit(key)
            for slot in waiting:
                slot.give_back()
            for _ in range(2):
                limits.admit(key).give_back()
            with pytest.raises(ProblemError, match="Rate limit reached"):
                limits.admit(key)
            assert limits.headers(key)["x-ratelimit-remaining-requests"] == "0"
            redis.process.send_signal(signal.SIGCONT)
            await reached(store)
            slot = limits.admit(key)
            assert slot.shared is not None
            with pytest.raises(ProblemError, match="Rate limit reached"):
                await slot.shared.decided()
