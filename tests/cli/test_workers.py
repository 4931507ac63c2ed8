"""Several processes that share one port: `workers = N`."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.cli.supervisor import wait_after
from tests.support.running import run, surroundings
from tests.support.several_workers import LONG, Workers, several_workers, soon, streams
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def is_open(url: str) -> bool:
    """Whether a server listens there."""
    address = urlsplit(url)
    try:
        socket.create_connection((str(address.hostname), address.port or 0), timeout=5).close()
    except OSError:
        return False
    return True


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_connections_are_shared_evenly_and_the_server_is_announced_once(tmp_path: Path) -> None:
    with several_workers(tmp_path, count=2) as server:
        assert server.ready["workers"] == 2
        with streams(server, 8) as opened:
            for lines in opened:
                assert [line for line in lines if line][-1] == "data: [DONE]"
        assert soon(lambda: len(server.turns) == 8)
        shares = Counter(line["pid"] for line in server.turns)
        assert shares.keys() == set(server.pids)
        assert min(shares.values()) >= 2  # four, where processes get the time that they need
        pids = server.pids
        assert server.stop() == 0
        assert server.process.stdout is not None
        assert server.process.stdout.read() == ""
    assert soon(lambda: not any(map(runs, pids)))
    assert server.lines("is replaced") == []


def test_the_banner_says_how_many(tmp_path: Path) -> None:
    with several_workers(tmp_path, count="auto", environ={"AM_WORKERS": "7"}) as server:
        cores = len(os.sched_getaffinity(0))
        assert server.ready.get("workers", 1) <= cores


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with several_workers(tmp_path) as server:
        first, second = server.pids
        os.kill(first, signal.SIGKILL)
        assert server.ask() == "completed"
        assert soon(lambda: len(server.pids) == 2 and first not in server.pids)
        assert second in server.pids
        assert soon(lambda: server.asked_all() == set(server.pids))
        (line,) = server.lines("is replaced")
        assert (line["level"], line["message"]) == ("error", f"worker {first} was ended by signal 9, and is replaced")
        assert line["pid"] == server.process.pid
        os.kill(second, signal.SIGTERM)  # an operator may stop a single one, too
        assert soon(lambda: len(server.lines("is replaced")) == 2)
        line = server.lines("is replaced")[1]
        assert line["level"] == "warning"
        assert line["message"] == f"worker {second} ended with exit code 0, and is replaced"
        assert soon(lambda: server.asked_all() == set(server.pids))
        assert server.stop() == 0


@pytest.mark.parametrize("to_all", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_all_streams_end(number: signal.Signals, to_all: bool, tmp_path: Path) -> None:  # noqa: FBT001 — a case
    """A terminal sends it to every process, and so does systemd: that is still the first signal only."""
    with several_workers(tmp_path, environ={"AM_SHUTDOWN_GRACE": "30"}) as server, streams(server, 4) as opened:
        for pid in [server.process.pid, *(server.pids if to_all else [])]:
            os.kill(pid, number)
        assert soon(lambda: not is_open(server.url))
        for lines in opened:
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert server.process.wait(20) == 0
    finishes = {line["finish"] for line in server.turns}
    assert finishes == {"completed"}


def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    environ = {"AM_DRAIN_DELAY": "60", "AM_SHUTDOWN_GRACE": "60"}
    with several_workers(tmp_path, environ=environ) as server, streams(server, 2, LONG):
        server.process.terminate()
        time.sleep(0.5)
        assert server.process.poll() is None
        assert server.ask() == "completed"  # it still serves, for load balancers that have not noticed
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0
    assert [line for line in server.lines() if line["level"] == "error"] == []


def test_turns_that_take_too_long_are_ended_in_all_workers(tmp_path: Path) -> None:
    environ = {"AM_SHUTDOWN_GRACE": "0.2"}
    with several_workers(tmp_path, environ=environ) as server, streams(server, 2, LONG) as opened:
        server.process.terminate()
        for lines in opened:
            events = [json.loads(line[6:])["type"] for line in lines if line.startswith("data: {")]
            assert events[-1] == "response.failed"
        assert server.process.wait(20) == 0


def test_a_worker_that_hangs_is_killed_when_the_server_stops(tmp_path: Path) -> None:
    with several_workers(tmp_path, environ={"AM_SHUTDOWN_GRACE": "0"}, program=IMPATIENT) as server:
        hanging, other = server.pids
        os.kill(hanging, signal.SIGSTOP)
        server.process.terminate()
        assert server.process.wait(20) == 0
        assert not runs(hanging)
        assert not runs(other)
    (line,) = server.lines("is killed")
    assert line["message"] == f"worker {hanging} has not ended in time, and is killed"
    assert [line["message"] for line in server.lines() if line["level"] == "error"] == [line["message"]]


def config(url: str, *models: str) -> str:
    tables = "".join(f'[models.{model}]\nupstream = "it"\n' for model in models)
    return f'[upstreams.it]\nvia = "chat"\nbase_url = "{url}"\n{tables}'


def replying(text: str) -> ChatUpstream:
    return ChatUpstream([says(text), stops(), counts(1, 1)])


def reloaded(server: Workers, folder: Path, text: str) -> list[tuple[int, str, str]]:
    """The process, level and message of each new line about it in the log."""
    before = len(server.lines("configuration"))
    (folder / "config.toml").write_text(text)
    server.process.send_signal(signal.SIGHUP)
    assert soon(lambda: len(server.lines("configuration")) > before)
    return [(line["pid"], line["level"], line["message"]) for line in server.lines("configuration")[before:]]


def test_a_reload_reaches_all_workers_or_none(tmp_path: Path) -> None:
    with replying("one") as one, replying("two") as two:
        (tmp_path / "config.toml").write_text(config(one.url, "a"))
        with several_workers(tmp_path) as server:
            ours = server.process.pid
            assert reloaded(server, tmp_path, config(two.url, "b")) == [(ours, "info", "configuration reloaded")]
            assert [[server.ask(model) for model in "ab"] for _ in range(4)] == [["model_not_found", "completed"]] * 4
            ((pid, level, message),) = reloaded(server, tmp_path, "[server]\nprot = 1\n")
            assert (pid, level) == (ours, "error")
            assert message.startswith("configuration not reloaded, keeping the old one: config.toml")
            assert [server.ask("b") for _ in range(4)] == ["completed"] * 4
            os.kill(server.pids[0], signal.SIGKILL)  # a new worker has the latest settings
            assert soon(lambda: len(server.pids) == 2)
            assert [server.ask("b") for _ in range(4)] == ["completed"] * 4
            ((_, level, message),) = reloaded(server, tmp_path, "[server]\nworkers = 3\n" + config(two.url, "b"))
            assert level == "info"  # --workers counts
            assert server.stop() == 0


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("[server]\nprot = 1\n", 2, r"config.toml: server.prot: is not a setting here .*1 error in config.toml\n"),
        ('[server]\nrecord = "folder"\n', 1, r"am-proxy: record: .*folder can be written by others; .*\n"),
    ],
)
def test_a_mistake_is_said_once_and_ends_it(text: str, code: int, expected: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o777)
    ended = run("serve", "--workers", "2", "--port", "0", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert re.fullmatch(expected, ended.stderr, re.DOTALL), ended.stderr


def test_a_port_in_use_is_said_once_and_ends_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("serve", "--workers", "2", "--port", str(port), folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with several_workers(tmp_path) as server, streams(server, 2) as opened:
        pids = server.pids
        server.process.kill()
        server.process.wait()
        assert soon(lambda: not is_open(server.url))
        for lines in opened:  # turns have their time
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert soon(lambda: not any(map(runs, pids)))
    assert len(server.lines("the supervisor of this worker has ended")) == 2


DIES = "import os, app.cli.supervisor as it; it.work = lambda *_: os.kill(os.getpid(), 9)"
IMPATIENT = "import app.cli.supervisor as it; it._MORE = it.GOODBYE = 0.5"
REFUSES = """
import os
fork = os.fork
def refuse():
    if os.path.exists("refused"):
        raise BlockingIOError(11, "no more processes")
    return fork()
os.fork = refuse
"""
FAILS = "import app.cli.supervisor as it; it.work = lambda *_: 3"


def test_a_worker_that_dies_at_start_is_tried_again_less_and_less_often(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool, contextlib.suppress(AssertionError):  # it never is ready
        log = tmp_path / "log"

        def stop() -> None:
            assert soon(lambda: log.exists() and log.read_text().count("is replaced") >= 4)
            pid = json.loads(log.read_text().splitlines()[0])["pid"]
            os.kill(pid, signal.SIGTERM)

        stopped = pool.submit(stop)
        with several_workers(tmp_path, count=2, program=DIES):
            pass
    stopped.result()
    messages = [json.loads(line)["message"] for line in log.read_text().splitlines()]
    waits = [message.rpartition(" in ")[2] for message in messages]
    assert waits[:4] == ["0.1 s", "0.1 s", "0.2 s", "0.2 s"]


def test_a_worker_that_refuses_to_start_ends_all(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"{FAILS}\nfrom app.__main__ import main\nraise SystemExit(main())"]
    command += ["serve", "--port", "0", "--workers", "2"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=surroundings(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "")


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0.1), (2, 0.2), (9, 25.6), (10, 30), (5000, 30)])
def test_the_wait_before_a_worker_is_started_again_has_a_limit(failures: int, seconds: float) -> None:
    assert wait_after(failures) == pytest.approx(seconds)


def test_processes_that_cannot_be_started_now_are_started_later(tmp_path: Path) -> None:
    """A container that limits its processes refuses to start one while it has as many."""
    with replying("one") as upstream:
        (tmp_path / "config.toml").write_text(config(upstream.url, "a"))
        with several_workers(tmp_path, program=REFUSES) as server:
            refused = tmp_path / "refused"
            refused.touch()
            ours = server.process.pid
            text = "configuration not reloaded, keeping the old one: it cannot be checked: no more processes"
            assert reloaded(server, tmp_path, config(upstream.url, "b")) == [(ours, "error", text)]
            os.kill(server.pids[0], signal.SIGKILL)
            assert soon(lambda: len(server.lines("no worker can be started: no more processes; tried again in")) >= 2)
            assert server.ask("a") == "completed"
            refused.unlink()
            assert soon(lambda: len(server.pids) == 2)
            assert server.stop() == 0
