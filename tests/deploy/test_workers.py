"""Several processes that share one port: `workers = 2`."""

import os
import re
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.deploy.program import ANSWER, Server, config, last, soon, started, streams
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Latch

pytestmark = pytest.mark.timeout(180)  # processes start slowly where many tests run
DEMO = '[models.m]\nupstream = "d"\n[upstreams.d]\nvia = "demo"\n'


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def turns(server: Server) -> float:
    """The turns that a page of metrics counts, whichever worker gives it."""
    page = httpx.get(f"http://127.0.0.1:{server.port}/metrics", timeout=30).text
    return sum(map(float, re.findall(r'^am_proxy_requests_total\{finish="completed".* (\S+)$', page, re.MULTILINE)))


def test_metrics_add_up_and_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with started(tmp_path, DEMO, "--workers", "2") as server:
        for _ in range(10):
            server.ask()
        assert [turns(server) for _ in range(6)] == [10] * 6
        first, second = server.workers
        os.kill(first, signal.SIGKILL)
        assert soon(lambda: len(server.workers) == 2 and first not in server.workers)
        os.kill(second, signal.SIGTERM)  # an operator may stop a single one, too
        assert soon(lambda: len(server.workers) == 2 and second not in server.workers)
        for _ in range(10):
            server.ask()
        assert [turns(server) for _ in range(6)] == [20] * 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_lets_all_streams_end(number: int, tmp_path: Path) -> None:
    """A terminal sends it to every process, and so does systemd: that is still the first signal only."""
    gate = Latch()
    with (
        ChatUpstream([says("a"), gate, stops(), counts(1, 1)]) as model,
        started(tmp_path, config(model.url), "--workers", "2", environ={"AM_SHUTDOWN_GRACE": "30"}) as server,
        streams(server, 4) as opened,
    ):
        workers = server.workers
        server.tell(number)
        for pid in workers:
            os.kill(pid, number)
        time.sleep(1)  # the supervisor has told them, too
        gate.open()
        assert [last(lines) for lines in opened] == ["response.completed"] * 4
    assert not any(map(runs, workers))
    assert not list(tmp_path.glob("am-proxy-metrics-*"))


def test_a_hangup_replaces_workers_by_others_with_new_settings(tmp_path: Path) -> None:
    gate = Latch()
    with (
        ChatUpstream([says("a"), gate, stops(), counts(1, 1)]) as one,
        ChatUpstream(ANSWER) as two,
        started(tmp_path, config(one.url), "--workers", "2") as server,
        streams(server, 2) as opened,
    ):
        former = set(server.workers)
        server.file.write_text(config(two.url, "b"))
        server.process.send_signal(signal.SIGHUP)
        gate.open()
        assert [last(lines) for lines in opened] == ["response.completed"] * 2
        assert soon(lambda: len(server.workers) == 2 and former.isdisjoint(server.workers))
        assert [server.ask(model) for model in "mbmb"] == ["model_not_found", "Hi"] * 2
        workers = server.workers
        (said,) = server.reload("[server]\nprot = 1\n")
        assert "server.prot: is not a setting here" in said
        assert [server.ask("b") for _ in range(4)] == ["Hi"] * 4
        assert soon(lambda: server.workers == workers)


def test_a_seal_of_one_worker_opens_in_the_other(tmp_path: Path) -> None:
    with started(tmp_path, DEMO, "--workers", "2") as server:
        address = f"{server.url}/responses"
        asked = {"model": "m", "input": "Please think.", "include": ["reasoning.encrypted_content"]}
        for _ in range(4):
            output = httpx.post(address, json=asked, timeout=30).json()["output"]
            body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, *output]}
            again = httpx.post(address, json=body, timeout=30)
            assert (again.status_code, again.headers.get("x-am-warnings")) == (200, None)


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, DEMO, "--workers", "2") as server:
        server.ask()
        workers = server.workers
        server.process.kill()
        server.code = -signal.SIGKILL
        assert soon(lambda: not any(map(runs, workers)))
