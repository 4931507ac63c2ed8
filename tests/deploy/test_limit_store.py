"""Three copies, one key, one store: real processes before a real Redis."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.redis_server import redis_server
from tests.support.running import ROOT, Running, running

pytestmark = pytest.mark.needs("redis-server")
CONFIG = """
[limits]
store = "{store}"

[[keys]]
name = "alice"
value = "alice-key"
{limits}
"""
ASK = {"model": "demo", "input": "Hi"}


CLOCK = """
import os, time

shift, speed = float(os.environ["SHIFT"]), float(os.environ["SPEED"])
real_time, real_monotonic = time.time, time.monotonic
time.time = lambda: real_time() + shift
time.monotonic = lambda: real_monotonic() * speed
"""
"""A module that Python loads at its start: the clock of this process is another one."""
REAL = (0.0, 1.0)
SAME = (REAL,) * 3
DIFFERENT = (REAL, (3600.0, 1.5), (-86_400.0, 0.7))
"""For each copy, by how many seconds its clock differs, and how fast the one that never stands still is."""


@contextmanager
def three_copies(
    folder: Path, store: str, limits: str, clocks: Sequence[tuple[float, float]] = SAME
) -> Iterator[list[Running]]:
    """Three processes with these limits for their one key."""
    (folder / "config.toml").write_text(CONFIG.format(store=store, limits=limits))
    (folder / "sitecustomize.py").write_text(CLOCK)
    path = f"{folder}:{ROOT}"
    with (folder / "log").open("a") as log, ExitStack() as stack:
        yield [
            stack.enter_context(
                running(
                    folder=folder,
                    log=log,
                    environ={"AM_METRICS": "open"}
                    | ({} if clock == REAL else {"PYTHONPATH": path, "SHIFT": f"{clock[0]}", "SPEED": f"{clock[1]}"}),
                )
            )
            for clock in clocks
        ]


class Asking(threading.Thread):
    """A client that asks one copy again and again how many tokens a turn has: that is a turn.

    It asks as fast as it can until it is refused, and then far more often than turns are admitted.
    """

    def __init__(self, copy: Running) -> None:
        super().__init__(daemon=True)
        self._url = copy.url
        self.stop = threading.Event()
        self.answers: Counter[int] = Counter()
        self.slowest = 0.0

    def run(self) -> None:
        with httpx.Client(base_url=self._url, headers={"authorization": "Bearer alice-key"}, timeout=30) as client:
            while not self.stop.is_set():
                began = time.monotonic()
                status = client.post("/responses/input_tokens", json=ASK).status_code
                self.answers[status] += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
                if status != 200:
                    self.stop.wait(0.04)


@contextmanager
def asking(copies: list[Running]) -> Iterator[list[Asking]]:
    """One such client for each copy, until the block ends."""
    clients = [Asking(copy) for copy in copies]
    for client in clients:
        client.start()
    try:
        yield clients
    finally:
        for client in clients:
            client.stop.set()
        for client in clients:
            client.join(10)


def outages(folder: Path) -> int:
    """How often a copy could not use the store."""
    return (folder / "log").read_text().count('"unreachable"')


def held_rate(folder: Path, rate: int, seconds: float, clocks: Sequence[tuple[float, float]]) -> float:
    """The turns that three copies admitted, as a share of those that the rate allows."""
    limits = f"requests_per_minute = {rate}"
    with redis_server(folder) as redis, three_copies(folder, redis.url, limits, clocks) as copies:
        with asking(copies) as clients:
            began = time.monotonic()
            time.sleep(seconds)
        passed = time.monotonic() - began
    assert {status for client in clients for status in client.answers} == {200, 429}
    assert all(client.answers[200] > rate / 10 for client in clients)
    return sum(client.answers[200] for client in clients) / (rate * (1 + passed / 60))


@pytest.mark.parametrize("clocks", [SAME, DIFFERENT], ids=["same clocks", "different clocks"])
def test_three_copies_hold_one_rate(clocks: Sequence[tuple[float, float]], tmp_path: Path) -> None:
    """A minute's requests may come at once; then they come back evenly."""
    for attempt in range(3):  # on a busy machine the store may be late, and is then not asked for a moment
        (folder := tmp_path / str(attempt)).mkdir()
        share = held_rate(folder, rate=300, seconds=6, clocks=clocks)
        if not outages(folder):
            assert share == pytest.approx(1, rel=0.01)
            return
    pytest.fail("the store was late in each attempt")


def test_a_store_that_is_killed_under_load_is_used_again_when_it_is_back(tmp_path: Path) -> None:
    rate = 600
    with redis_server(tmp_path) as redis, three_copies(tmp_path, redis.url, f"requests_per_minute = {rate}") as copies:
        state = [httpx.get(f"{copy.url.removesuffix('/v1')}/health/ready").json()["limit_store"] for copy in copies]
        assert state == ["reachable"] * 3
        with asking(copies) as clients:
            until(lambda: sum(client.answers[429] for client in clients) > 20)
            redis.process.kill()
            redis.process.wait(5)
            until(lambda: outages(tmp_path) >= 3)
            ready = httpx.get(f"{copies[0].url.removesuffix('/v1')}/health/ready")
            assert (ready.status_code, ready.json()["limit_store"].partition(":")[0]) == (200, "unreachable")
            assert "am_proxy_limit_store_reachable 0.0" in httpx.get(metrics_of(copies[0])).text
            time.sleep(1)
            with redis_server(tmp_path, port=redis.port):
                until(
                    lambda: all("am_proxy_limit_store_reachable 1.0" in httpx.get(metrics_of(c)).text for c in copies)
                )
                admitted, known = -1, -1
                for _ in range(3):  # on a busy machine, the store may not be reached for a moment
                    before, known = sum(client.answers[200] for client in clients), outages(tmp_path)
                    time.sleep(4)
                    admitted = sum(client.answers[200] for client in clients) - before
                    if outages(tmp_path) == known:
                        break
                assert outages(tmp_path) == known
                assert admitted == pytest.approx(4 * rate / 60, abs=5)
        assert {status for client in clients for status in client.answers} == {200, 429}
        assert max(client.slowest for client in clients) < 2


def metrics_of(copy: Running) -> str:
    return f"{copy.url.removesuffix('/v1')}/metrics"


def until(condition: Callable[[], bool]) -> None:
    """Waits for this."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
