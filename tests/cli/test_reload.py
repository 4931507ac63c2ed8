"""SIGHUP: other settings for whoever comes, the old ones for whoever is there."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.running import COMMAND, ROOT, surroundings
from tests.support.surveyed_server import SurveyedServer, chats, listing
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Pause, Step
from tests.wire.servers.steps import Latch

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")


class Server:
    """A server that reads its settings again on a signal."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, log: Path) -> None:
        self._process = process
        self._config = folder / "config.toml"
        self._log = log
        assert process.stdout is not None
        self.url: str = json.loads(process.stdout.readline())["url"]

    def reload(self, text: str) -> list[dict[str, Any]]:
        """Write other settings and say so; what the log says of it."""
        before = len(self._lines())
        self._config.write_text(text)
        self._process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            lines = [line for line in self._lines()[before:] if "configuration" in line["message"]]
            if lines:
                return lines
            time.sleep(0.02)
        raise AssertionError(self._log.read_text())

    def ask(self, model: str) -> str:
        """What the model says, or what is wrong."""
        answer = httpx.post(f"{self.url}/responses", json={"model": model, "input": "Hi"}, timeout=20).json()
        if "error" in answer and answer.get("object") != "response":
            return str(answer["error"]["code"])
        return str(answer["output"][0]["content"][0]["text"])

    def _lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@contextmanager
def started(folder: Path, text: str, *, collector: str = "") -> Iterator[Server]:
    """`collector` is what the library that tells of spans does when it is loaded, instead of itself."""
    (folder / "config.toml").write_text(text)
    if collector:
        library = folder / "opentelemetry/sdk/__init__.py"
        library.parent.mkdir(parents=True)
        library.write_text(collector)
    log = folder / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--log-format", "json"],
            cwd=folder,
            env=surroundings({"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"} if collector else None),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Server(process, folder, log)
        finally:
            process.terminate()
    assert process.returncode == 0


def config(url: str, *models: str, more: str = "") -> str:
    tables = "".join(f'[models.{model}]\nupstream = "it"\n' for model in models)
    return f'{more}\n[upstreams.it]\nvia = "chat"\nbase_url = "{url}"\n{tables}'


def replying(text: str) -> ChatUpstream:
    return ChatUpstream([says(text), stops(), counts(1, 1)])


def test_other_models_and_other_upstreams_are_there_at_once(tmp_path: Path) -> None:
    with (
        replying("one") as one,
        replying("two") as two,
        started(tmp_path, config(one.url, "a")) as server,
    ):
        assert (server.ask("a"), server.ask("b")) == ("one", "model_not_found")
        (line,) = server.reload(config(two.url, "b"))
        assert (line["level"], line["message"]) == ("info", "configuration reloaded")
        assert (server.ask("a"), server.ask("b")) == ("model_not_found", "two")


def test_the_list_of_an_upstream_is_asked_for_anew(tmp_path: Path) -> None:
    text = config("URL", '"*"')
    with SurveyedServer(chats(models=listing("one"))) as one, SurveyedServer(chats(models=listing("two"))) as two:
        with started(tmp_path, text.replace("URL", one.url)) as server:

            def names() -> list[str]:
                return [entry["id"] for entry in httpx.get(f"{server.url}/models").json()["data"]]

            assert (names(), names()) == (["one"], ["one"])
            server.reload(text.replace("URL", two.url))
            assert (names(), names()) == (["two"], ["two"])
            server.reload(text.replace("URL", one.url))
            assert names() == ["one"]
        assert (len(one.paths), len(two.paths)) == (2, 1)


def test_a_stream_that_runs_goes_on_at_its_upstream(tmp_path: Path) -> None:
    gate = Latch()
    script: list[Step] = [says("before, "), gate, says("after"), stops(), counts(1, 1)]
    with (
        ChatUpstream(script) as one,
        replying("two") as two,
        started(tmp_path, config(one.url, "a")) as server,
    ):
        body = {"model": "a", "input": "Hi", "stream": True}
        with httpx.stream("POST", f"{server.url}/responses", json=body, timeout=20) as stream:
            lines = stream.iter_lines()
            assert any("before, " in line for line in lines)
            server.reload(config(two.url, "a"))
            assert server.ask("a") == "two"
            gate.open()
            rest = "\n".join(lines)
        assert '"text":"before, after"' in rest
        assert "event: response.completed" in rest


def test_a_mistake_changes_nothing_and_is_reported_at_its_line(tmp_path: Path) -> None:
    with replying("one") as one, started(tmp_path, config(one.url, "a")) as server:
        (line,) = server.reload(config(one.url, "b", more="[server]\nkeep_alive = -1"))
        assert line["level"] == "error"
        assert line["message"].startswith("configuration not reloaded, keeping the old one: config.toml: ")
        assert (server.ask("a"), server.ask("b")) == ("one", "model_not_found")
        server.reload(config(one.url, "b"))
        assert server.ask("b") == "one"


def test_what_the_server_was_started_with_waits_for_a_restart(tmp_path: Path) -> None:
    with replying("one") as one, started(tmp_path, config(one.url, "a")) as server:
        (line,) = server.reload(config(one.url, "b", more='[server]\nhost = "localhost"\nstrict = true'))
        assert line["level"] == "warning"
        assert line["message"] == "configuration reloaded; server.host takes effect only after a restart"
        assert server.ask("b") == "one"


def test_keys_and_counts_and_seals_outlive_it(tmp_path: Path) -> None:
    """Sealed under the key of this process, as there is none in the settings."""
    thinking = "Please think."
    text = "[models.demo]\nupstream = 'd'\n[upstreams.d]\nvia = 'demo'\n"
    with started(tmp_path, text) as server:
        asked = {"model": "demo", "input": thinking, "include": ["reasoning.encrypted_content"], "store": False}
        output = httpx.post(f"{server.url}/responses", json=asked).json()["output"]
        assert [item["type"] for item in output] == ["reasoning", "message"]
        assert output[0]["encrypted_content"]
        server.reload(text + "[server]\nmax_items = 100\n")
        again = [{"role": "user", "content": thinking}, *output, {"role": "user", "content": "And?"}]
        answer = httpx.post(f"{server.url}/responses", json={"model": "demo", "input": again})
        assert (answer.status_code, answer.headers.get("x-am-warnings")) == (200, None)
        page = httpx.get(f"{server.url.removesuffix('/v1')}/metrics").text
        assert 'am_proxy_requests_total{finish="completed",model="demo",upstream="d"} 2.0' in page


def test_a_websocket_ends_behind_its_turn_and_its_key_with_it(tmp_path: Path) -> None:
    """It would be served for an hour by settings that hold no longer."""
    gate = Latch()
    script: list[Step] = [says("before, "), gate, says("after"), stops(), counts(1, 1)]
    frame = json.dumps({"type": "response.create", "model": "a", "input": "Hi"})
    alice = '[[keys]]\nname = "alice"\nvalue = "sk-alice"'
    bob = alice.replace("alice", "bob")
    with ChatUpstream(script) as one, started(tmp_path, config(one.url, "a", more=alice)) as server:
        address = f"{server.url}/responses".replace("http", "ws", 1)
        with connect(address, additional_headers={"Authorization": "Bearer sk-alice"}) as websocket:
            websocket.send(frame)
            while "before, " not in websocket.recv(20):
                pass
            server.reload(config(one.url, "a", more=bob))
            gate.open()
            rest = list(websocket)
        assert json.loads(rest[-1])["type"] == "response.completed"
        assert websocket.protocol.close_code == 1001
        with pytest.raises(InvalidStatus), connect(address, additional_headers={"Authorization": "Bearer sk-alice"}):
            pass


def test_who_watches_turns_comes_again_under_the_new_settings(tmp_path: Path) -> None:
    watched = '[server]\nwatch = 5\n[models.demo]\nupstream = "d"\n[upstreams.d]\nvia = "demo"\n'
    with started(tmp_path, watched) as server:
        feed = f"{server.url.removesuffix('/v1')}/inspector/rows"
        with httpx.stream("GET", feed, timeout=20) as turns:
            server.reload(watched.replace("5", "0"))
            assert [line for line in turns.iter_lines() if line.startswith("event")] == ["event: ready"]
        assert httpx.get(feed).status_code == 404


def test_old_connections_are_closed_when_they_are_no_longer_used(tmp_path: Path) -> None:
    with (
        ChatUpstream([says("one"), Pause(0.01), stops(), counts(1, 1)]) as one,
        replying("two") as two,
        started(tmp_path, config(one.url, "a")) as server,
    ):
        for _ in range(3):
            server.reload(config(two.url, "a"))
            assert server.ask("a") == "two"
            server.reload(config(one.url, "a"))
            assert server.ask("a") == "one"
        assert (one.connections, two.connections) == (3, 3)


def keyed(url: str, *, more: str = "", **limits: int) -> str:
    """A configuration with one key, and these limits of it."""
    table = '[[keys]]\nname = "alice"\nvalue = "sk-alice"\n' + "".join(f"{k} = {v}\n" for k, v in limits.items())
    return config(url, "a", more=f"{more}\n{table}")


def test_running_turns_and_spent_requests_count_under_the_new_limits(tmp_path: Path) -> None:
    gate = Latch()
    body = {"model": "a", "input": "Hi", "stream": True}
    headers = {"authorization": "Bearer sk-alice"}
    with (
        ChatUpstream([says("before, "), gate, stops()]) as one,
        started(tmp_path, keyed(one.url, concurrency=2, requests_per_minute=5)) as server,
    ):
        address = f"{server.url}/responses"
        with httpx.stream("POST", address, json=body, headers=headers, timeout=20) as stream:
            lines = stream.iter_lines()
            assert any("before, " in line for line in lines)
            server.reload(keyed(one.url, concurrency=1, requests_per_minute=2))
            second = httpx.post(address, json=body, headers=headers, timeout=20)
            assert second.status_code == 429
            assert "may run 1 requests at once" in second.json()["error"]["message"]
            gate.open()
            assert any("response.completed" in line for line in lines)
        answers = [httpx.post(address, json=body, headers=headers, timeout=20) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]


def test_what_cannot_be_followed_changes_nothing_at_all(tmp_path: Path) -> None:
    """An upstream's certificate, a collector of spans or a static file may be missing: nothing of it is in force."""
    gate = Latch()
    body = {"model": "a", "input": "Hi", "stream": True}
    headers = {"authorization": "Bearer sk-alice"}
    with (
        ChatUpstream([says("before, "), gate, stops()]) as one,
        started(tmp_path, keyed(one.url, concurrency=1), collector="raise ImportError") as server,
    ):
        address = f"{server.url}/responses"
        with httpx.stream("POST", address, json=body, headers=headers, timeout=20) as stream:
            lines = stream.iter_lines()
            assert any("before, " in line for line in lines)
            more = '[server]\nmax_turns = 1\ntraces = "http://127.0.0.1:9/v1/traces"'
            (line,) = server.reload(keyed(one.url, more=more, concurrency=9))
            assert line["message"].startswith("configuration not reloaded, keeping the old one: ")
            refusal = httpx.post(address, json=body, headers=headers, timeout=20)
            assert (refusal.status_code, refusal.json()["error"]["code"]) == (429, "rate_limit_exceeded")
            gate.open()
            assert any("response.completed" in line for line in lines)


def test_a_reload_that_fails_unforeseen_is_logged_and_the_next_one_succeeds(tmp_path: Path) -> None:
    with (
        replying("one") as one,
        replying("two") as two,
        started(tmp_path, config(one.url, "a"), collector="raise RuntimeError('not foreseen')") as server,
    ):
        traced = '[server]\ntraces = "http://127.0.0.1:9/v1/traces"'
        (line,) = server.reload(config(two.url, "a", more=traced))
        assert (line["level"], line["message"]) == (
            "error",
            "configuration not reloaded, keeping the old one",
        )
        assert server.ask("a") == "one"
        (line,) = server.reload(config(two.url, "a"))
        assert (line["message"], server.ask("a")) == ("configuration reloaded", "two")
