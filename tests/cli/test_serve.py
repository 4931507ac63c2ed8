"""`am-proxy serve`, mostly as the program it is."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import httpx
import pytest

from app.cli.serve import Announced, listen, serve
from app.main import build_app
from app.settings import Server, Settings
from tests.running import run, running, surroundings


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
        assert server.banner.startswith("AM Proxy 0.1.0 is ready: http://127.0.0.1:")
        assert server.stop() == 0
    assert waited < 5


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
    assert ended.stderr == "config.toml:2: server.prot: is not a setting here (did you mean port?)\n"


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
    told = "another program has it; stop that one, or choose another port with --port (0 for any free one)"
    assert capsys.readouterr().err == f"am-proxy: cannot listen on 127.0.0.1 port {port}: {told}\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.EACCES, "Permission denied"), "not allowed; choose a port of 1024 or more with --port"),
        (OSError(errno.EADDRNOTAVAIL, "no"), "this machine does not have that address; 127.0.0.1 it always has"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (OSError(), "the system says no"),
        (socket.gaierror(-2, "Name or service not known"), "there is no such address"),
    ],
)
def test_whatever_the_system_says_is_told_with_advice(
    error: OSError, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_host: str, _port: int) -> socket.socket:
        raise error

    monkeypatch.setattr("app.cli.serve.listen", refuse)
    assert serve(Settings()) == 1
    assert capsys.readouterr().err == f"am-proxy: cannot listen on 127.0.0.1 port 8080: {told}\n"


@pytest.mark.parametrize("host", ["::1", "[::1]", "localhost"])
def test_it_listens_on_addresses_of_all_kinds(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        assert listener.getsockname()[1] > 0


def test_the_first_signal_asks_and_the_second_insists() -> None:
    with listen("127.0.0.1", 0) as listener:
        server = Announced(build_app(Settings()), Settings(), listener)
        server.handle_exit(signal.SIGINT, None)
        assert (server.should_exit, server.force_exit) == (True, False)
        server.handle_exit(signal.SIGTERM, None)
        assert (server.should_exit, server.force_exit) == (True, True)


def test_ctrl_c_is_an_orderly_end_too(tmp_path: Path) -> None:
    with running(folder=tmp_path) as server:
        os.kill(server.process.pid, signal.SIGINT)
        assert server.process.wait(timeout=15) == 0


def test_a_stream_that_runs_when_the_server_is_told_to_stop_comes_to_its_end(tmp_path: Path) -> None:
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
