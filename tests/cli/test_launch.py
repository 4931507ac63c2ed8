"""`am-proxy launch codex`: what Codex is given, what is said if something is missing; and a real Codex."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.cli.main import main
from tests.cli.launching import MODELS, WAITS, Home
from tests.deploy.program import soon
from tests.support.node import NODE, folder_with
from tests.support.surveyed_server import SurveyedServer, chats, listing, loading, ollama, vllm
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import Status

LAUNCH = [sys.executable, "-m", "app", "launch", "codex"]
REFUSED = Status(401, {"error": {"message": "no"}})
Told = Callable[..., tuple[object, str, str]]
MANY = [f"model-{number}" for number in range(40)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.install()
    return made


@pytest.fixture
def server() -> Iterator[SurveyedServer]:
    with SurveyedServer(loading(ollama(MODELS), 65_536), text_turn("Hello")) as made:
        yield made


class LmStudio(BaseHTTPRequestHandler):
    """A program on its usual port."""

    def do_GET(self) -> None:
        """Lists a model."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "qwen", "owned_by": "organization_owner"}]}')

    def do_POST(self) -> None:
        """Refuses a body without a model."""
        self.send_error(400)

    def log_message(self, *_: object) -> None:
        """Not among what the command says."""


def launch(home: Home, *words: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The command to its end. Its temporary files lie beside the home."""
    given = home.environ | {"TMPDIR": str(home.folder)} | dict(environ or {})
    command = [*LAUNCH, *words]
    return subprocess.run(
        command, cwd=home.work, env=given, input="piped in", capture_output=True, text=True, timeout=60, check=False
    )


def left(home: Home) -> list[str]:
    """What lies among the temporary files."""
    return [path.name for made in home.folder.glob("am-proxy-*") for path in made.iterdir()]


def test_codex_gets_a_server_and_its_models_and_no_file_of_the_user_is_changed(
    home: Home, server: SurveyedServer
) -> None:
    home.install("sys.exit(7)")
    before = home.files()
    ran = launch(home, "--upstream", server.root, "--", "exec", "--json", "read")
    assert (ran.returncode, ran.stdout) == (7, "the agent is running\n"), ran.stderr
    seen = home.seen
    url = seen["settings"]["model_providers"]["am"]["base_url"]
    assert seen["settings"] == {
        "model": "coder:8b",  # the first one that calls tools and has enough context
        "model_provider": "am",
        "model_providers": {"am": {"name": "AM Proxy", "base_url": url, "wire_api": "responses"}},
        "model_catalog_json": seen["settings"]["model_catalog_json"],
    }
    assert seen["arguments"] == ["exec", "--json", "read"]
    assert seen["catalogue"] == [["small:1b", 8_192], ["coder:8b", 65_536], ["seer:30b", 131_072]]
    assert (seen["status"], seen["answer"]["output"][0]["content"][0]["text"]) == (200, "Hello")
    assert seen["input"] == "piped in"
    assert ran.stderr.splitlines() == [
        "am-proxy: Ollama loads coder:8b …",
        "am-proxy: Codex uses coder:8b with 65,536 tokens of context; its menu has 2 more",
        f"am-proxy: watch it at {url.removesuffix('v1')} until it ends",
    ]
    assert (home.files(), left(home)) == (before, [])


def test_a_profile_is_printed_and_nothing_is_started_or_written(home: Home, server: SurveyedServer) -> None:
    before, flags = home.files(), ["--upstream", server.root, "--upstream-key", "sk-theirs"]
    ran = launch(home, *flags, "--print", environ={"AM_KEY": "sk-alice", "AM_PORT": "8123"})
    assert (ran.returncode, home.seen_file.exists(), home.files(), left(home)) == (0, False, before, []), ran.stderr
    profile = tomllib.loads(ran.stdout)
    provider = {
        "name": "AM Proxy",
        "base_url": "http://127.0.0.1:8123/v1",
        "wire_api": "responses",
        "env_key": "AM_KEY",
        "model_catalog_url": "http://127.0.0.1:8123/v1/models",
        "supports_websockets": True,
    }
    assert (profile["model"], profile["model_providers"]["am"]) == ("coder:8b", provider)
    assert "# while `am-proxy serve` runs, with the configuration and the flags" in ran.stdout
    assert "sk-" not in ran.stdout


def test_a_configuration_with_keys_and_a_search_gives_codex_both(home: Home, server: SurveyedServer) -> None:
    """The key is in its environment, not among its arguments, which every user of the machine can read."""
    (home.work / "am-proxy.toml").write_text(f"""
        [[keys]]
        name = "alice"
        value = "sk-alice"
        [search]
        backend = "searxng"
        base_url = "http://127.0.0.1:9"
        [upstreams.local]
        base_url = "{server.url}"
        [models.coder]
        upstream = "local"
        name = "coder:8b"
        context_window = 64_000
    """)
    proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8,intra.net"}
    ran, seen = launch(home, environ=proxies), home.seen
    key = seen["environ"]["AM_LAUNCH_KEY"]
    assert (ran.returncode, seen["status"], seen["catalogue"]) == (0, 200, [["coder", 65_536]])
    assert seen["settings"]["features"] == {"standalone_web_search": True}
    provider = seen["settings"]["model_providers"]["am"]
    assert (provider["env_key"], provider["supports_standalone_web_search"]) == ("AM_LAUNCH_KEY", True)
    assert (len(key) > 40, [word for word in seen["words"] if key in word]) == (True, [])
    assert server.asks[-1].body["model"] == "coder:8b"
    assert seen["environ"]["NO_PROXY"] == "127.0.0.0/8,intra.net,127.0.0.1"
    assert "watch it" not in ran.stderr  # it would show the turns of other keys only


WANTS_KEY = {**chats(models=listing("m")), "/v1/chat/completions": REFUSED}
SHORT = (
    "qwen has a context of 16,384 tokens, and coding agents need about 32,000. "
    "Start vLLM with --max-model-len 32768. --model qwen tries it all the same"
)
TOOLS = "calls no tools, and Codex needs them. Choose another with --model: small:1b, coder:8b"
# fmt: off
MISSING = {
    "context": (vllm("qwen", 16_384), [], SHORT),
    "no model": (chats(models=listing()), [], "URL/v1 lists no models. Name one with --model"),
    "ollama": (ollama({}), [], "URL/v1 lists no models. Download one, for example with: ollama pull qwen3"),
    "many": (chats(models=listing(*MANY)), [], "there are 40 models. Choose one with --model: model-0, model-1, "),
    "misspelt": (ollama(MODELS), ["--model", "coder"], 'there is no model "coder" (did you mean coder:8b?). There'),
    "no tools": (ollama(MODELS), ["--model", "words:4b"], f"the model words:4b {TOOLS}"),
    "no key": (WANTS_KEY, [], "URL/v1 needs an API key, and none is set. Give it with --upstream-key env:NAME, or "),
    "wrong key": (WANTS_KEY, ["--upstream-key", "sk-wrong"], "URL/v1 refuses the API key. Is it the right one "),
}
# fmt: on


@pytest.fixture
def told(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """The command in this process, which has imported all: its exit code and both outputs."""
    monkeypatch.chdir(home.work)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)

    def run(*flags: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["am-proxy", "launch", "codex", *flags])
        with pytest.raises(SystemExit) as caught:
            main()
        ran = capsys.readouterr()
        assert not home.seen_file.exists()
        return caught.value.code, ran.out, ran.err

    return run


@pytest.mark.parametrize(("pages", "flags", "said"), MISSING.values(), ids=MISSING.keys())
def test_what_is_missing_is_said_before_codex_starts(
    told: Told, pages: Mapping[str, Status], flags: list[str], said: str
) -> None:
    with SurveyedServer(pages) as server:
        code, out, err = told("--upstream", server.root, *flags)
        assert (code, out) == (1, "")
        assert err.startswith(f"am-proxy: cannot launch Codex: {said.replace('URL', server.root)}"), err


def test_what_has_no_server_says_what_to_give(home: Home, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = "The upstream at http://127.0.0.1:9/v1 refused the connection. Is it running?"
    assert told() == lacks("no model is configured. Add --upstream URL, or write an am-proxy.toml")
    assert told("--upstream", "127.0.0.1:9") == lacks(refused)
    with ThreadingHTTPServer(("127.0.0.1", 1234), LmStudio) as usual:
        threading.Thread(target=usual.serve_forever, daemon=True).start()
        assert told() == lacks("no model is configured. lm_studio runs here: --upstream http://127.0.0.1:1234/v1")
        usual.shutdown()
    (home.bin / "codex").unlink()
    monkeypatch.setenv("PATH", f"{home.bin}:/usr/bin:/bin")
    install = "it is not installed. Install it with: npm install --global @openai/codex"
    assert told("--model", "demo") == lacks(install)
    assert launch(home, "--model", "demo", "--print").returncode == 0, "it may be for elsewhere"
    home.install()
    ran = launch(home, "--model", "demo")
    assert (ran.returncode, home.seen["catalogue"], home.seen["status"]) == (0, [["demo", None]], 200)


def lacks(said: str) -> tuple[int, str, str]:
    return 1, "", f"am-proxy: cannot launch Codex: {said}\n"


def test_what_failed_is_said_once_and_the_log_of_it_is_kept(home: Home) -> None:
    """Each time the server is asked: Codex would wait without a word for one that is left alone."""
    home.install("for _ in range(11):\n    post()")
    failing = [Status(500, {"error": {"message": "Boom"}})], [Status(503, {"error": {"message": "out of memory"}})]
    with SurveyedServer(vllm("qwen", 65_536), *failing) as server:
        ran = launch(home, "--upstream", server.root)
        assert sum(ask.path == server.chat_path and ask.raw != b"" for ask in server.asks) > 20
    assert (ran.returncode, home.seen["status"], left(home)) == (0, 502, ["server.log"])
    boom, memory, log = ran.stderr.splitlines()[-3:]
    assert boom == f"am-proxy: The upstream at {server.url} answered 500: Boom"
    assert memory == f"am-proxy: The upstream at {server.url} answered 503: out of memory"
    assert "Boom" in Path(log.removeprefix("am-proxy: there were problems; the log of the server is ")).read_text()


def test_a_signal_is_passed_on_and_the_exit_code_returned(home: Home, server: SurveyedServer) -> None:
    home.install(WAITS)
    command = [*LAUNCH, "--upstream", server.root]
    with subprocess.Popen(command, cwd=home.work, env=home.environ, stdin=subprocess.DEVNULL) as process:
        assert soon(Path(f"{home.seen_file}.waits").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 40 + signal.SIGTERM


@pytest.mark.needs("npm:@openai/codex")
def test_a_real_codex_runs_a_command_and_answers(tmp_path: Path) -> None:
    modules = folder_with("@openai/codex")
    home = Home(tmp_path)
    launcher = home.bin / "codex"
    launcher.write_text(f'#!/bin/sh\nexec {NODE} {modules}/@openai/codex/bin/codex.js "$@"\n')
    launcher.chmod(0o755)
    turns = call_turn("exec_command", json.dumps({"cmd": "echo one > made.txt"})), text_turn("It is done.")
    words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "say hi"]
    with SurveyedServer(vllm("qwen", 65_536), *turns) as server:
        ran = launch(
            home, "--upstream", server.root, "--", *words, environ={"PATH": f"{home.bin}:{os.environ['PATH']}"}
        )
    assert ran.returncode == 0, ran.stderr
    events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    assert [item["text"] for item in items if item["type"] == "agent_message"] == ["It is done."]
    assert (home.work / "made.txt").read_text() == "one\n"
    assert re.search(r"Codex uses qwen with 65,536 tokens of context", ran.stderr)
