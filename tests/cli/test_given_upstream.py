"""`--upstream`: its server decides how it is asked, once, when the program starts."""

import json
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.given_upstream import Remark, settled
from app.settings import GIVEN, load
from tests.support.running import COMMAND, Running, started, surroundings
from tests.support.surveyed_server import REFUSES_EMPTY, SurveyedServer, chats, listing, ollama, shown, vllm
from tests.wire.script import counts, says, stops
from tests.wire.servers import Hang, ResponsesUpstream, Status
from tests.wire.servers.responses import answer, message
from tests.wire.servers.server import ScriptedUpstream

KEY = "sk-a-key-that-must-stay-secret"
IF_REFUSED = ", with all tools as functions if it refuses others"
QWEN = {"qwen3:8b": shown("qwen3", 40_960, "tools")}
HELLO = [says("Hello"), stops(), counts(7, 5)]


class Silent(ScriptedUpstream):
    """A server that takes connections and says nothing."""

    takes_empty_bodies = True

    def _all_faults(self, ask: object) -> list[str]:  # noqa: ARG002 — it reads nothing
        return []


class Serving:
    """A server that was started with `--upstream`, and its log."""

    def __init__(self, server: Running, log: Path) -> None:
        self.server = server
        self._log = log

    @property
    def pid(self) -> int:
        """Of its process."""
        return self.server.process.pid

    def log(self) -> list[dict[str, Any]]:
        """Its lines of JSON."""
        lines = self._log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def imports(self) -> set[str]:
        """The packages that it has imported, if it was to tell."""
        return {found[1] for found in re.finditer(r"\| +([\w]+)", self._log.read_text())}

    def said(self) -> list[tuple[str, str]]:
        """What it said about its upstream."""
        return [(line["level"], line["message"]) for line in self.log() if "upstream" in line["message"].lower()]

    def ask(self) -> Any:
        """One answer."""
        body = {"model": "qwen3:8b", "input": "Hi"}
        return httpx.post(f"{self.server.url}/responses", json=body, timeout=20).json()

    def reload(self) -> None:
        """Read the settings again, and wait for it."""
        before = len(self.log())
        self.server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while not any("configuration" in line["message"] for line in self.log()[before:]):
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)


@contextmanager
def serving(
    tmp_path: Path, *flags: str, environ: Mapping[str, str] | None = None, tells_imports: bool = False
) -> Iterator[Serving]:
    program = [sys.executable, "-X", "importtime", "-m", "app"] if tells_imports else COMMAND
    command = [*program, "serve", "--port", "0", *flags]
    path = tmp_path / "log"
    with (
        path.open("w") as log,
        started(command, folder=tmp_path, environ=surroundings(environ), log=log) as server,
    ):
        yield Serving(server, path)


def text_of(response: Any) -> str:
    return str(response["output"][0]["content"][0]["text"])


def test_the_first_command_of_the_readme_loads_no_litellm(tmp_path: Path) -> None:
    with (
        SurveyedServer(ollama(QWEN), HELLO) as upstream,
        serving(tmp_path, "--upstream", upstream.url, tells_imports=True) as served,
    ):
        assert text_of(served.ask()) == "Hello"
        assert "httptools" in served.imports()
        assert not {"aiohttp", "litellm"} & served.imports()
        resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{served.pid}/status").read_text())
        assert resident
        assert int(resident[1]) < 140_000  # 260,000 with litellm
        assert served.said() == [
            ("info", f"--upstream {upstream.url}: using chat completions (ollama)"),
        ]


def test_what_its_provider_needs_is_respected(tmp_path: Path) -> None:
    """Ollama does not read a `tool_choice` that names a tool."""
    with SurveyedServer(ollama(QWEN), HELLO) as upstream, serving(tmp_path, "--upstream", upstream.url) as served:
        tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
        body = {"model": "m", "input": "Hi", "tools": [tool], "tool_choice": {"type": "function", "name": "f"}}
        httpx.post(f"{served.server.url}/responses", json=body, timeout=20)
        assert upstream.asks[-1].body["tool_choice"] == "required"


def test_an_address_without_its_version_is_completed(tmp_path: Path) -> None:
    environ = {"AM_UPSTREAM": "", "AM_UPSTREAM_KEY": KEY}
    with SurveyedServer(vllm("qwen3:8b", 32_768), HELLO) as upstream:
        environ["AM_UPSTREAM"] = upstream.root
        with serving(tmp_path, environ=environ) as served:
            assert text_of(served.ask()) == "Hello"
            assert served.said() == [
                (
                    "warning",
                    f"AM_UPSTREAM {upstream.root}: did you mean {upstream.url}? That address answers, so it is used.",
                ),
                ("info", f"AM_UPSTREAM {upstream.root}: using chat completions (vllm)"),
            ]
        assert KEY not in (tmp_path / "log").read_text()


class OnlyResponses(ResponsesUpstream):
    """A server without chat completions."""

    takes_empty_bodies = True

    def _all_faults(self, ask: Any) -> list[str]:
        return super()._all_faults(ask) if ask.raw else []


def test_a_server_of_responses_alone_is_asked_by_responses(tmp_path: Path) -> None:
    def script(ask: Any) -> Any:
        if ask.raw:
            return answer(message("msg_1", "Hello"))
        pages = {"/v1/models": listing("qwen3:8b"), "/v1/responses": REFUSES_EMPTY}
        return [pages.get(ask.path, Status(404))]

    with OnlyResponses(script) as upstream, serving(tmp_path, "--upstream", upstream.url) as served:
        assert text_of(served.ask()) == "Hello"
        assert served.said() == [("info", f"--upstream {upstream.url}: using the Responses API{IF_REFUSED}")]


def test_a_given_via_is_kept_with_a_warning_where_it_does_not_suit(tmp_path: Path) -> None:
    flags = ("--via", "responses")
    with (
        SurveyedServer(chats(models=listing("m"))) as upstream,
        serving(tmp_path, "--upstream", upstream.url, *flags) as served,
    ):
        assert served.ask()["error"]["code"] == "model_not_found"
        assert upstream.paths[-1] == "/v1/responses"
        assert served.said() == [
            ("warning", f"--upstream {upstream.url}: The server has no /responses. Use --via chat."),
            ("warning", "upstream fails"),
        ]


def test_a_server_that_never_answers_delays_the_start_by_two_seconds(tmp_path: Path) -> None:
    with Silent([Hang()]) as upstream:
        began = time.monotonic()
        with serving(tmp_path, "--upstream", upstream.url) as served:
            took = time.monotonic() - began
            whose = f"--upstream {upstream.url}:"
            assert served.said() == [
                (
                    "warning",
                    f"{whose} It did not answer within 2 seconds. Using chat completions; --via changes that.",
                )
            ]
    assert 2 <= took < 12  # seconds of a busy machine come on top


@pytest.mark.parametrize(
    ("status", "key", "said"),
    [(401, (), "It needs an API key."), (401, ("--upstream-key", KEY), "It refuses the API key.")],
)
async def test_a_server_that_wants_a_key_is_asked_by_chat(
    tmp_path: Path, status: int, key: tuple[str, ...], said: str
) -> None:
    with SurveyedServer({}, other=Status(status, {"error": {"message": KEY}})) as upstream:
        settings = load({"upstream": upstream.url, **({"upstream_key": key[1]} if key else {})}, {}, tmp_path)
        done, remarks = await settled(settings)
    assert done.upstreams[GIVEN].via == "chat"
    advice = "Set it with --upstream-key env:NAME. Using chat completions; --via changes that."
    words = f"--upstream {upstream.url}: {said} {advice}"
    assert remarks == [Remark(words, is_warning=True)]


async def test_a_server_of_functions_is_known_where_its_responses_are_asked_for(tmp_path: Path) -> None:
    pages = {**vllm("qwen3:8b", 32_768), "/v1/responses": REFUSES_EMPTY}
    with SurveyedServer(pages) as upstream:
        settings = load({"upstream": upstream.url, "via": "responses"}, {}, tmp_path)
        done, remarks = await settled(settings)
    assert (done.upstreams[GIVEN].via, done.upstreams[GIVEN].provider) == ("responses", "vllm")
    words = "using the Responses API (vllm), with all tools as functions"
    assert remarks == [Remark(f"--upstream {upstream.url}: {words}")]


async def test_a_known_provider_is_known_while_it_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    for url, via, provider in (
        ("https://api.openai.com/v1", "responses", "openai"),
        ("https://api.deepseek.com/v1", "chat", "deepseek"),
        ("https://api.example.com/v1", "chat", None),
    ):
        done, remarks = await settled(load({"upstream": url}, {}, tmp_path))
        assert (done.upstreams[GIVEN].via, done.upstreams[GIVEN].provider) == (via, provider)
        assert [remark.is_warning for remark in remarks] == [True]


async def test_a_reload_keeps_what_is_known_while_the_server_is_down(tmp_path: Path) -> None:
    with SurveyedServer(ollama(QWEN)) as upstream:
        settings = load({"upstream": upstream.root}, {}, tmp_path)
        before, _ = await settled(settings)
    after, remarks = await settled(settings, before)
    assert after == before
    assert after.upstreams[GIVEN].provider == "ollama"
    assert [(remark.is_warning, "Still using chat completions." in remark.message) for remark in remarks] == [
        (True, True)
    ]


async def test_a_reload_with_another_address_keeps_nothing(tmp_path: Path) -> None:
    with SurveyedServer(ollama(QWEN)) as upstream:
        before, _ = await settled(load({"upstream": upstream.url}, {}, tmp_path))
    other, _ = await settled(load({"upstream": "http://127.0.0.1:9/v1"}, {}, tmp_path), before)
    assert (other.upstreams[GIVEN].base_url, other.upstreams[GIVEN].provider) == ("http://127.0.0.1:9/v1", None)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_reload_looks_again(tmp_path: Path) -> None:
    with (
        SurveyedServer({}, HELLO, other=Status(503)) as upstream,
        serving(tmp_path, "--upstream", upstream.root) as served,
    ):
        assert "It is not ready" in served.said()[0][1]
        upstream.pages, upstream.other = ollama(QWEN), Status(404)
        served.reload()
        assert text_of(served.ask()) == "Hello"
        assert served.said()[-1] == ("info", f"--upstream {upstream.root}: using chat completions (ollama)")


async def test_without_the_flag_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[upstreams.upstream]\nvia = "chat"\nbase_url = "http://127.0.0.1:9/v1"\n[models."*"]\nupstream = "upstream"\n'
    )
    settings = load({}, {}, tmp_path)
    assert await settled(settings) == (settings, [])
