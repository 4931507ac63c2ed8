"""`am-proxy serve`, mostly as the program it is."""

import errno
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from app.cli.listening import listen
from app.cli.reloading_server import YOUNG, ReloadingServer
from app.cli.serve import serve
from app.main import build_app
from app.settings import Server, Settings
from app.version import VERSION
from tests.support.running import run, running, surroundings
from tests.wire.grammar import check


def ask(url: str, *, key: str | None = None, **body: object) -> dict[str, object]:
    """One request, one response."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{url}/responses", json.dumps(body).encode(), headers)  # noqa: S310 — a local URL
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 — as above
        return dict(json.load(answer))


def test_it_answers_soon_after_the_command_and_stops_in_peace(tmp_path: Path) -> None:
    """The wait allowed is several times the usual one, for machines that are busy."""
    before = time.monotonic()
    with running(folder=tmp_path) as server:
        assert ask(server.url, model="demo", input="Hello!")["status"] == "completed"
        waited = time.monotonic() - before
        assert server.banner.startswith(f"AM Proxy {VERSION} is ready: http://127.0.0.1:")
        assert server.stop() == 0
    assert waited < 15


def test_a_key_from_the_environment_guards_an_address_that_others_can_reach(tmp_path: Path) -> None:
    with running("--host", "0.0.0.0", folder=tmp_path, environ={"AM_KEY": "let-me-in"}) as server:  # noqa: S104 — that is the point
        assert ask(server.url, key="let-me-in", model="demo", input="Hello!")["status"] == "completed"
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(server.url, key="wrong", model="demo", input="Hello!")
        with refused.value as answer:
            assert answer.code == 401


def test_mistakes_are_lines_on_stderr_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[server]\nprot = 1\n")
    ended = run("serve", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "config.toml: server.prot: is not a setting here (did you mean port?)\n1 error in config.toml\n"
    )


def test_without_litellm_routes_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """They would cost seconds before the first answer."""
    seen = subprocess.run(
        [
            sys.executable,
            "-c",
            "import app.cli.serve, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))",
        ],
        env=surroundings(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"litellm", "openai", "tiktoken", "tokenizers", "boto3", "aiohttp", "jsonschema", "requests"}
    assert heavy & set(seen.stdout.split()) == set()


def test_a_port_in_use_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert serve(Settings(server=Server(port=port))) == 1
    message = "another program uses it; stop that one, or choose another port with --port (0 for any free one)"
    assert capsys.readouterr().err == f"am-proxy: cannot listen on 127.0.0.1 port {port}: {message}\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EACCES, "Permission denied"), "not allowed; choose a port of 1024 or more with --port"),
        (OSError(errno.EADDRNOTAVAIL, "no"), "this machine does not have that address; it always has 127.0.0.1"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (OSError(), "the system does not allow it"),
        (socket.gaierror(-2, "Name or service not known"), "there is no such address"),
    ],
)
def test_every_error_of_the_system_is_reported_with_advice(
    error: OSError, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_host: str, _port: int, **_options: float) -> socket.socket:
        raise error

    monkeypatch.setattr("app.cli.serve.listen", refuse)
    assert serve(Settings()) == 1
    assert capsys.readouterr().err == f"am-proxy: cannot listen on 127.0.0.1 port 8080: {message}\n"


@pytest.mark.parametrize("host", ["::1", "[::1]", "localhost"])
def test_it_listens_on_addresses_of_all_kinds(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        assert listener.getsockname()[1] > 0


def test_the_collector_of_garbage_works_from_the_start_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(gc, "freeze", lambda: seen.append("freeze"))
    monkeypatch.setattr(gc, "set_threshold", seen.append)
    with listen("127.0.0.1", 0) as listener:

        def ready() -> None:
            seen.append(gc.isenabled())
            server.stop_now()

        server = ReloadingServer(build_app(Settings()), Settings(), listener, ready=ready)
        gc.disable()
        try:
            server.run(sockets=[listener])
        finally:
            gc.enable()
    assert seen == ["freeze", YOUNG, True]


def test_the_first_signal_asks_and_the_second_insists() -> None:
    with listen("127.0.0.1", 0) as listener:
        server = ReloadingServer(build_app(Settings()), Settings(), listener)
        server.handle_exit(signal.SIGINT, None)
        assert (server.should_exit, server.force_exit) == (True, False)
        server.handle_exit(signal.SIGTERM, None)
        assert (server.should_exit, server.force_exit) == (True, True)


def test_ctrl_c_is_an_orderly_end_too(tmp_path: Path) -> None:
    with running(folder=tmp_path) as server:
        os.kill(server.process.pid, signal.SIGINT)
        assert server.process.wait(timeout=15) == 0


SLOW: dict[str, object] = {"model": "demo", "input": "slow"}


def asking(url: str, body: Mapping[str, object], answers: list[httpx.Response]) -> threading.Thread:
    """Ask in a thread of its own, which ends with the answer."""
    thread = threading.Thread(target=lambda: answers.append(httpx.post(f"{url}/responses", json=body, timeout=20)))
    thread.start()
    return thread


def test_a_server_that_has_to_stop_first_reports_it_and_ends_what_takes_too_long(tmp_path: Path) -> None:
    """Not ready, and yet serving; then no new connections; then what still runs is ended in the client's own words."""
    streamed: list[httpx.Response] = []
    whole: list[httpx.Response] = []
    environ = {"AM_DRAIN_DELAY": "1.5", "AM_SHUTDOWN_GRACE": "1"}
    with running(folder=tmp_path, environ=environ) as server:
        threads = [asking(server.url, SLOW | {"stream": True}, streamed), asking(server.url, SLOW, whole)]
        time.sleep(0.5)
        health = server.url.removesuffix("/v1") + "/health"
        assert httpx.get(f"{health}/ready").status_code == 200
        server.process.terminate()
        time.sleep(0.2)
        assert [httpx.get(f"{health}/{path}").status_code for path in ("ready", "live")] == [503, 200]
        assert ask(server.url, model="demo", input="still?")["status"] == "completed"
        assert soon(lambda: not is_open(server.url))
        assert server.process.poll() is None
        assert server.process.wait(timeout=15) == 0
        for thread in threads:
            thread.join(5)
    events = [json.loads(line[6:]) for line in streamed[0].text.split("\n") if line.startswith("data: {")]
    check(events)
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"] == {
        "code": "server_error",
        "message": "This server is being stopped. Please try again in 1s.",
        "type": "server_error",
    }
    assert (whole[0].status_code, whole[0].headers["retry-after"]) == (503, "1")
    assert whole[0].json()["error"]["code"] == "overloaded"


def is_open(url: str) -> bool:
    """Whether a server listens there."""
    address = urlsplit(url)
    try:
        socket.create_connection((str(address.hostname), address.port or 0), timeout=5).close()
    except ConnectionError:
        return False
    return True


def soon(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold, however busy this machine is."""
    deadline = time.monotonic() + 15
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def test_who_watches_turns_is_let_go_in_peace_when_the_server_stops(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, running("--watch", "5", folder=tmp_path, log=log) as server:
        ask(server.url, model="demo", input="Hi")
        base = server.url.removesuffix("/v1")
        with httpx.stream("GET", f"{base}/inspector/rows", timeout=20) as feed:
            pieces = feed.iter_raw()
            assert b"event: row" in next(pieces)
            server.process.terminate()
            for _ in pieces:  # to its end, which an answer cut short has not
                pass
        assert server.process.wait(timeout=15) == 0
    assert '"level": "error"' not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(first: signal.Signals, tmp_path: Path) -> None:
    environ = {"AM_DRAIN_DELAY": "60", "AM_SHUTDOWN_GRACE": "60"}
    with (
        (tmp_path / "log").open("w") as log,
        running(folder=tmp_path, environ=environ, log=log) as server,
        httpx.stream("POST", f"{server.url}/responses", json=SLOW | {"stream": True}, timeout=10) as answer,
    ):
        pieces = answer.iter_raw()  # to be held: without it httpx hangs up
        next(pieces)
        server.process.send_signal(first)
        time.sleep(0.5)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=30) == 0
    assert '"level": "error"' not in (tmp_path / "log").read_text()


def test_a_request_that_is_on_its_way_when_the_server_stops_is_answered(tmp_path: Path) -> None:
    """A load balancer may have connected the moment before, and does not send a request a second time."""
    head = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = b'{"model": "demo", "input": "Hi"}'
    whole = head + b"content-length: %d\r\n\r\n" % len(body) + body
    with running(folder=tmp_path) as server, ExitStack() as stack:
        address = urlsplit(server.url)
        there = (str(address.hostname), address.port or 0)
        fresh, begun, silent = (stack.enter_context(socket.create_connection(there, timeout=5)) for _ in range(3))
        begun.sendall(whole[:40])
        assert is_open(server.url)  # and so all of them are accepted
        server.process.terminate()
        assert soon(lambda: not is_open(server.url))
        fresh.sendall(whole)
        begun.sendall(whole[40:])
        for client in (fresh, begun):
            answer = b"".join(iter(lambda: client.recv(4096), b""))  # noqa: B023 — it is called at once
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"\r\nconnection: close\r\n" in answer
        assert silent.recv(1) == b""
        assert server.process.wait(timeout=15) == 0


def test_a_request_that_never_arrives_whole_does_not_keep_the_server(tmp_path: Path) -> None:
    head = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with running(folder=tmp_path, environ={"AM_SHUTDOWN_GRACE": "0"}) as server:
        address = urlsplit(server.url)
        with socket.create_connection((str(address.hostname), address.port or 0), timeout=5) as client:
            client.sendall(head + b"content-length: 99\r\n\r\n{")
            time.sleep(0.2)
            server.process.terminate()
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert server.process.wait(timeout=15) == 0
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"This server is being stopped." in answer


def test_a_stream_that_runs_when_the_server_has_to_stop_comes_to_its_end(tmp_path: Path) -> None:
    body = {"model": "demo", "input": "slow and steady", "stream": True, "text": {"format": {"type": "json_object"}}}
    with (
        running(folder=tmp_path) as server,
        httpx.stream("POST", f"{server.url}/responses", json=body, timeout=10) as answer,
    ):
        lines = answer.iter_lines()
        next(lines)
        server.process.terminate()
        *_, last = [line for line in lines if line.startswith(("event: ", "data: [DONE]"))]
        assert last == "data: [DONE]"
        assert server.process.wait(timeout=15) == 0
