"""What several workers share: figures, memory and the folder of recordings."""

import json
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.support.metrics import samples
from tests.support.several_workers import Workers, several_workers, soon
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def finished(server: Workers) -> float:
    """The number of turns that ended, as any of the workers tells it."""
    page = samples(httpx.get(server.url.removesuffix("/v1") + "/metrics", timeout=5).text)
    return sum(value for name, value in page.items() if name.startswith("am_proxy_requests_total"))


def test_metrics_are_those_of_all_workers_dead_and_hanging_ones_too(tmp_path: Path) -> None:
    with several_workers(tmp_path) as server:
        assert server.asked_all() == set(server.pids)
        done = len(server.turns)
        assert [finished(server) for _ in range(6)] == [done] * 6
        first, second = server.pids
        os.kill(first, signal.SIGKILL)  # at once after its last turn
        assert soon(lambda: len(server.pids) == 2 and first not in server.pids)
        assert [finished(server) for _ in range(6)] == [done] * 6
        assert soon(lambda: server.asked_all() == set(server.pids))
        done = len(server.turns)
        os.kill(second, signal.SIGSTOP)
        try:
            before = time.monotonic()
            assert [finished(server) for _ in range(3)] == [done] * 3
            assert time.monotonic() - before < 10
            page = samples(httpx.get(server.url.removesuffix("/v1") + "/metrics", timeout=5).text)
            assert soon(lambda: silent(server) == 1)
        finally:
            os.kill(second, signal.SIGCONT)
        assert soon(lambda: silent(server) == 0)
        assert page["process_start_time_seconds"] > 0


def silent(server: Workers) -> float:
    """How many workers do not react."""
    page = samples(httpx.get(server.url.removesuffix("/v1") + "/metrics", timeout=5).text)
    return page['am_proxy_workers{state="silent"}']


LITELLM = """
[upstreams.it]
via = "litellm"
provider = "openai"
api_key = "sk-none"
base_url = "{}"
[models.a]
upstream = "it"
"""


def test_workers_share_the_memory_of_litellm(tmp_path: Path) -> None:
    with ChatUpstream([says("one"), stops(), counts(1, 1)]) as upstream:
        text = LITELLM.format(upstream.url)
        (tmp_path / "config.toml").write_text(text)
        with several_workers(tmp_path) as server:
            assert [server.ask("a") for _ in range(4)] == ["completed"] * 4
            processes = [server.process.pid, *server.pids]
            # with a thread it could not fork safely
            assert len([*Path(f"/proc/{server.process.pid}/task").iterdir()]) == 1
            shared, all_ = (sum(memory_of(pid, kind) for pid in processes) for kind in ("Pss", "Rss"))
            assert shared < 0.6 * all_
            assert server.stop() == 0


def memory_of(pid: int, kind: str) -> int:
    """Kilobytes of a process: `Pss` counts a part of what it shares with others, `Rss` all."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


KEYS = """
[server]
max_turns = 1
[[keys]]
name = "a"
value = "the-key"
requests_per_minute = 5
[upstreams.u]
via = "demo"
[models.demo]
upstream = "u"
"""


def test_limits_that_do_not_hold_for_all_workers_together_are_said(tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text(KEYS)
    with several_workers(tmp_path) as server:
        lines = server.lines("2 workers: each")
    assert [line["level"] for line in lines] == ["warning", "warning"]
    assert ["server.max_turns" in lines[0]["message"], "requests_per_minute" in lines[1]["message"]] == [True, True]


def test_websockets_and_recordings_work_in_all_workers(tmp_path: Path) -> None:
    url = "ws" + "{}/responses"
    with several_workers(tmp_path, "--record", str(tmp_path / "recordings")) as server, ExitStack() as stack:
        address = url.format(server.url.removeprefix("http"))
        sockets = [stack.enter_context(connect(address)) for _ in range(4)]
        for each in sockets:
            each.send(json.dumps({"type": "response.create", "model": "demo", "input": "Hi"}))
        for each in sockets:
            events = iter(lambda: json.loads(each.recv(timeout=20))["type"], "response.completed")  # noqa: B023 — at once
            assert next(events) == "response.created"
            assert "error" not in set(events)
        assert soon(lambda: len(server.turns) == 4)
        assert {line["pid"] for line in server.turns} == set(server.pids)
        assert len(server.lines("record is on")) == 1
        assert soon(lambda: len([*(tmp_path / "recordings").iterdir()]) == 4)
        assert server.stop() == 0
