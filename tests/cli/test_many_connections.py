"""The real server under many connections: slow ones from many addresses, and no more files."""

import json
import os
import shlex
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.open_files import open_files
from tests.support.many_clients import HALF, RawClient, slow_strangers
from tests.support.running import Running, running, started, surroundings

KEY = "alices-key-alices-key"
STRANGERS = 1000
ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 12))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs addresses such as 127.0.0.2, and epoll")


def medians(url: str, kept: RawClient, times: int) -> list[float]:
    """The median times of a request over a new connection and over one that is kept. Each must succeed."""
    new, old = [], []
    for _ in range(times):
        began = time.perf_counter()
        with RawClient(url) as client:
            assert client.ask(KEY) == 200
        new.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert kept.ask(KEY) == 200
        old.append(time.perf_counter() - began)
    return [statistics.median(new), statistics.median(old)]


@pytest.mark.parametrize("addresses", [ADDRESSES, ("127.0.0.1",)], ids=["from ten addresses", "from the same address"])
def test_a_thousand_slow_strangers_do_not_keep_a_customer_out(addresses: tuple[str, ...], tmp_path: Path) -> None:
    """Compared with the same server before they came. Usually both are below 3."""
    open_files(STRANGERS + 500)
    environ = {"AM_KEY": KEY, "AM_MAX_CONNECTIONS": "300", "AM_HEADER_TIMEOUT": "60"}
    with running(folder=tmp_path, environ=environ) as server, RawClient(server.url) as kept:
        medians(server.url, kept, 20)
        quiet = medians(server.url, kept, 60)
        with slow_strangers(server.url, STRANGERS, addresses) as again:
            before = again[0]
            loud = medians(server.url, kept, 60)
            assert again[0] - before > 20, "nobody came again"
        ratios = [round(one / other, 1) for one, other in zip(loud, quiet, strict=True)]
        assert max(ratios) < 15, ratios


@contextmanager
def with_few_files(files: int, folder: Path, **environ: str) -> Iterator[tuple[Running, Path]]:
    """A server that may open so many files, and its log."""
    log = folder / "log"
    command = f"ulimit -n {files}; exec {shlex.quote(sys.executable)} -m app serve --port 0"
    with (
        log.open("w") as writing,
        started(["sh", "-c", command], folder=folder, environ=surroundings(environ), log=writing) as server,
    ):
        yield server, log


def processor_seconds(server: Running) -> float:
    """The time that the server has worked."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lines(log: Path) -> list[str]:
    """The messages in the log."""
    return [json.loads(line)["message"] for line in log.read_text().splitlines()]


def test_with_few_files_the_server_says_so_and_serves(tmp_path: Path) -> None:
    with with_few_files(200, tmp_path, AM_KEY=KEY) as (server, log), RawClient(server.url) as kept:
        assert kept.ask(KEY) == 200
        strangers = [RawClient(server.url).send(HALF) for _ in range(300)]
        began = processor_seconds(server)
        time.sleep(1)
        assert processor_seconds(server) - began < 0.5
        assert kept.ask(KEY) == 200
        with RawClient(server.url) as new:
            assert new.ask(KEY) == 200
        for stranger in strangers:
            stranger.socket.close()
        assert lines(log)[0] == (
            "this process may open 200 files, so at most 68 clients can be connected; raise the limit for more "
            "(ulimit -n, LimitNOFILE of systemd)"
        )
        assert server.stop() == 0


def test_without_a_file_left_the_server_accepts_again_when_there_is_one(tmp_path: Path) -> None:
    """Files are taken from the running server by lowering its limit, and given back."""
    resource = pytest.importorskip("resource")
    with with_few_files(400, tmp_path, AM_KEY=KEY) as (server, log):
        pid = server.process.pid
        with RawClient(server.url) as kept:
            assert kept.ask(KEY) == 200
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (5, 400))
            began = processor_seconds(server)
            waiting = [RawClient(server.url) for _ in range(20)]
            for client in waiting:
                client.send(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            time.sleep(1)
            assert processor_seconds(server) - began < 0.5, "it tried all the time"
            assert kept.closed_soon(), "an idle connection makes room"
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (400, 400))
            assert [client.status() for client in waiting] == [200] * len(waiting)
        with RawClient(server.url) as new:
            assert new.ask(KEY) == 200
        assert lines(log).count("cannot accept connections, and tries again: Too many open files") == 1
        assert server.stop() == 0
