"""Three copies, one key, one store: real processes before a real Redis."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.redis_server import redis_server
from tests.support.running import Running, running

CONFIG = """
[limits]
store = "{store}"
{more}

[[keys]]
name = "alice"
value = "alice-key"
{limits}
"""
ASK = {"model": "demo", "input": "Hi"}


@contextmanager
def three_copies(folder: Path, store: str, limits: str, more: str = "", **environ: str) -> Iterator[list[Running]]:
    """Three processes with these limits for their one key."""
    (folder / "config.toml").write_text(CONFIG.format(store=store, limits=limits, more=more))
    with (folder / "log").open("a") as log, ExitStack() as stack:
        yield [stack.enter_context(running(folder=folder, environ=environ, log=log)) for _ in range(3)]


class Asking(threading.Thread):
    """A client that asks one copy again and again, as fast as it can, how many tokens a turn has: that is a turn."""

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
                self.answers[client.post("/responses/input_tokens", json=ASK).status_code] += 1
                self.slowest = max(self.slowest, time.monotonic() - began)


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


def held_rate(folder: Path, rate: int, seconds: float) -> float:
    """The turns that three copies admitted, as a share of those that the rate allows."""
    with redis_server(folder) as redis, three_copies(folder, redis.url, f"requests_per_minute = {rate}") as copies:
        with asking(copies) as clients:
            began = time.monotonic()
            while time.monotonic() < began + seconds:
                time.sleep(0.001)
        passed = time.monotonic() - began
    assert {status for client in clients for status in client.answers} == {200, 429}
    assert all(client.answers[200] > rate / 10 for client in clients)
    return sum(client.answers[200] for client in clients) / (rate * (1 + passed / 60))


def test_three_copies_hold_one_rate(tmp_path: Path) -> None:
    """A minute's requests may come at once; then they come back evenly."""
    for attempt in range(3):  # on a busy machine the store may be late, and is then not asked for a moment
        (folder := tmp_path / str(attempt)).mkdir()
        share = held_rate(folder, rate=300, seconds=6)
        if not (folder / "log").read_text().count('"unreachable"'):
            assert share == pytest.approx(1, rel=0.01)
            return
    pytest.fail("the store was late in each attempt")
