"""`am-proxy launch` with the real Codex and the real opencode, on a scripted server that looks like an Ollama."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from app.settings import Model, Settings, Upstream
from tests.conformance.agents.opencode import ALONE
from tests.conformance.install import opencode_in
from tests.support.codex import MCP_SERVER, modules_with
from tests.support.event_scripts import as_events
from tests.support.running import surroundings
from tests.support.script import call_turn, text_turn
from tests.support.search_server import SearchServer
from tests.support.servers import Ask, ChatUpstream, Script, Step
from tests.support.serving import serving
from tests.support.surveyed_responses import SurveyedFunctions
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy, terminal

pytestmark = pytest.mark.xdist_group("node")

MODELS: Final = {
    "words:4b": shown("gemma", 131_072),
    "coder:8b": shown("qwen3", 65_536, "tools"),
    "seer:30b": shown("qwen3", 131_072, "tools", "vision"),
}
DONE: Final = "Done: naïve 😀."
FIRST_ANSWER_WITHIN: Final = 30
"""Seconds from the command to Codex's answer. It takes two or three on a quiet machine."""


class Machine:
    """A home with a configuration of the agent, a folder to work in, and the programs."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.bin = folder / "bin"
        for made in (self.home / ".codex", self.home / ".config" / "opencode", self.work, self.bin):
            made.mkdir(parents=True)
        (self.home / ".codex" / "config.toml").write_text('model = "gpt-6"\nmodel_reasoning_effort = "high"\n')
        own = {"$schema": "https://opencode.ai/config.json", "model": "anthropic/claude"}
        (self.home / ".config" / "opencode" / "opencode.json").write_text(json.dumps(own))

    def install(self, name: str, program: Path) -> None:
        """Put a program on the path."""
        (self.bin / name).symlink_to(program)

    @property
    def environ(self) -> dict[str, str]:
        """What the command is started with."""
        path = f"{self.bin}:{os.environ['PATH']}"
        spaces = {f"XDG_{name}_HOME": "" for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        return surroundings({**ALONE, **spaces, "HOME": str(self.home), "PATH": path, "PWD": str(self.work)})

    def launch(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command to its end."""
        return subprocess.run(
            am_proxy("launch", *words),
            cwd=self.work,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def configuration(self) -> dict[str, bytes]:
        """The files that a user writes, and those that --write would add."""
        folders = [self.home / ".codex", self.home / ".config" / "opencode"]
        files = [file for folder in folders for file in folder.iterdir() if file.suffix in {".toml", ".json", ".jsonc"}]
        return {str(file.relative_to(self.home)): file.read_bytes() for file in files}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def codex(machine: Machine) -> Machine:
    modules = modules_with("@openai/codex")
    if modules is None or shutil.which("node") is None:
        pytest.skip("Codex was NOT launched: npm install --prefix .cache/npm @openai/codex")
    machine.install("codex", modules / "@openai" / "codex" / "bin" / "codex.js")
    return machine


@pytest.fixture
def opencode(machine: Machine) -> Machine:
    modules = modules_with("opencode-ai")
    program = None if modules is None else opencode_in(modules)
    if program is None:
        pytest.skip("opencode was NOT launched: npm install --prefix .cache/npm opencode-ai")
    machine.install("opencode", program)
    return machine


def said_events(stdout: str) -> list[str]:
    """What `codex exec --json` shows its user."""
    events = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return [item["text"] for item in items if item["type"] == "agent_message"]


def upstream(*scripts: Script) -> SurveyedServer:
    return SurveyedServer(ollama(MODELS), *scripts)


def asked(server: SurveyedServer) -> list[str]:
    """The models that were asked for an answer."""
    return [ask.body["model"] for ask in server.asks if ask.path == server.chat_path and ask.raw]


def test_codex_runs_a_command_and_answers(codex: Machine) -> None:
    before = codex.configuration()
    arguments = json.dumps({"cmd": "echo one && echo two > made.txt"})
    with upstream(call_turn("exec_command", arguments), text_turn(DONE)) as server:
        began = time.monotonic()
        ran = codex.launch(
            *("codex", "--upstream", server.url, "--"),
            *("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Do it"),
        )
        took = time.monotonic() - began
    assert (ran.returncode, said_events(ran.stdout)) == (0, [DONE]), ran.stderr
    assert (codex.work / "made.txt").read_text() == "two\n"
    assert asked(server) == ["coder:8b", "coder:8b"]
    assert "reasoning_effort" not in server.asks[-1].body  # the user's setting is for another model
    assert "Model metadata" not in ran.stdout + ran.stderr  # what Codex says without a catalogue
    assert took < FIRST_ANSWER_WITHIN
    assert codex.configuration() == before  # what else is in ~/.codex now, such as sessions, Codex wrote itself
    assert list((codex.home / ".cache" / "am-proxy" / "launch").iterdir()) == []


def test_codex_searches_the_web_if_the_configuration_has_a_search(codex: Machine) -> None:
    call = call_turn("web__run", json.dumps({"search_query": [{"q": "cats"}]}))
    with upstream(call, text_turn(DONE)) as server, SearchServer() as searched:
        (codex.work / "config.toml").write_text(
            f'[search]\nbackend = "searxng"\nbase_url = "{searched.url}"\n'
            f'[upstreams.local]\nvia = "chat"\nprovider = "ollama"\nbase_url = "{server.url}"\n'
            '[models."coder:8b"]\nupstream = "local"\n'
        )
        ran = codex.launch("codex", "--", "exec", "--json", "--skip-git-repo-check", "What do cats do?")
    assert (ran.returncode, said_events(ran.stdout)) == (0, [DONE]), ran.stderr
    assert [each.fields["q"] for each in searched.asked] == ["cats"]
    assert "web__run" in [tool["function"]["name"] for tool in server.asks[-1].body["tools"]]
    assert "nder-development" not in ran.stdout + ran.stderr  # it is not the user who has chosen that


PATCH: Final = """\
*** Begin Patch
*** Add File: made.txt
+two
*** End Patch
"""
EXEC: Final = ("--", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Do it")
SCRIPTS: Final = (
    call_turn("exec_command", json.dumps({"cmd": "echo one"}), id="call_1"),
    call_turn("apply_patch", json.dumps({"input": PATCH}), id="call_2"),
    call_turn("mcp__weather__look_up", json.dumps({"city": "Paris"}), id="call_3"),
    text_turn(DONE),
)


def plug_in(machine: Machine) -> None:
    """A server of tools, whose tools come in a namespace."""
    with (machine.home / ".codex" / "config.toml").open("a") as config:
        config.write(f'\n[mcp_servers.weather]\ncommand = "{sys.executable}"\nargs = ["{MCP_SERVER}"]\n')


@pytest.mark.parametrize(
    ("owner", "flags"),
    [("vllm", ["--via", "responses"]), ("vllm", []), ("somebody", []), ("somebody", ["--via", "responses"])],
)
def test_codex_works_on_a_server_whose_responses_api_knows_only_functions(
    codex: Machine, owner: str, flags: list[str]
) -> None:
    plug_in(codex)

    def steps(ask: Ask) -> list[Step]:
        outputs = [item for item in ask.body["input"] if item["type"] == "function_call_output"]
        return [*SCRIPTS[len(outputs)]]

    with SurveyedFunctions(as_events(steps), owner=owner) as server:
        server.may_violate = owner != "vllm"
        ran = codex.launch("codex", "--upstream", server.url, *flags, *EXEC)
    assert (ran.returncode, said_events(ran.stdout)) == (0, [DONE]), ran.stderr
    assert (codex.work / "made.txt").read_text() == "two\n"
    assert len(server.asks) == len(SCRIPTS) * (1 if owner == "vllm" else 2), "what is unknown costs a refused request"


def test_codex_works_on_a_server_with_a_responses_api_of_its_own(codex: Machine) -> None:
    """It is another AM Proxy."""
    plug_in(codex)
    with ChatUpstream(*SCRIPTS) as upstream:
        behind = Upstream(via="chat", base_url=upstream.url)
        models = {"coder": Model(upstream="behind", context_window=65_536)}
        with serving(Settings(upstreams={"behind": behind}, models=models)) as url:
            ran = codex.launch("codex", "--upstream", f"{url}/v1", *EXEC)
    assert (ran.returncode, said_events(ran.stdout)) == (0, [DONE]), ran.stderr
    assert (codex.work / "made.txt").read_text() == "two\n"
    assert len(upstream.asks) == len(SCRIPTS)


def test_codex_works_by_the_profile_that_was_written_for_it(codex: Machine) -> None:
    before = codex.configuration()
    with upstream(text_turn(DONE)) as server:
        serving = subprocess.Popen(
            am_proxy("serve", "--upstream", server.url, "--port", "0"),
            cwd=codex.work,
            env=codex.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with serving:
            assert serving.stdout is not None
            port = serving.stdout.readline().rpartition(":")[2].strip().removesuffix("/v1")
            written = codex.launch("codex", "--upstream", server.url, "--port", port, "--write")
            assert (written.returncode, "start:    codex --profile am" in written.stdout) == (0, True), written.stderr
            ran = subprocess.run(
                ["codex", "--profile", "am", "exec", "--json", "--skip-git-repo-check", "Do it"],  # noqa: S607 — as it says
                cwd=codex.work,
                env=codex.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            serving.terminate()
    assert (ran.returncode, said_events(ran.stdout)) == (0, [DONE]), ran.stdout + ran.stderr
    assert asked(server) == ["coder:8b"]
    assert codex.launch("codex", "--restore").returncode == 0
    assert codex.configuration() == before


def test_the_menu_of_codex_shows_these_models_only(codex: Machine) -> None:
    with upstream(text_turn(DONE)) as server:
        command = am_proxy("launch", "codex", "--upstream", server.url)
        with terminal(command, folder=codex.work, environ=codex.environ, columns=120) as seen:
            seen.wait_for("coder:8b high")  # the effort is the user's
            if "Do you trust" in seen.text:
                seen.type("\r")
            seen.wait_for("Ask Codex to do anything")
            seen.type("/model")
            seen.wait_for("choose what model and reasoning effort to use")
            time.sleep(0.3)  # Codex takes keys that come at once for pasted text
            seen.type("\r")
            seen.wait_for("Select Model")
            seen.wait_for("2. seer:30b")
            menu = re.findall(r"\d\. .*", seen.text)
            seen.type("\x1b")
            seen.wait_for("Ask Codex to do anything")
            seen.type("hello")
            time.sleep(0.3)
            seen.type("\r")
            seen.wait_for(DONE)
            time.sleep(0.3)
            seen.type("\x03")
            assert seen.wait() == 0
    assert menu == ["1. coder:8b (current)", "2. seer:30b"]
    assert asked(server)[0] == "coder:8b"


def test_opencode_answers_with_its_tools(opencode: Machine) -> None:
    before = opencode.configuration()
    call = call_turn("bash", json.dumps({"command": "echo two > made.txt", "description": "…"}))
    (opencode.work / "opencode.json").write_text('{"permission": "allow"}')

    def answer(ask: Ask) -> list[Step]:
        """A call first. It asks for a title too, without tools."""
        first = ask.body.get("tools") and ask.body["messages"][-1]["role"] == "user"
        return [*(call if first else text_turn(DONE))]

    with upstream(answer) as server:
        ran = opencode.launch("opencode", "--upstream", server.url, "--", "run", "--format", "json", "Do it")
    texts = [json.loads(line)["part"]["text"] for line in ran.stdout.splitlines() if '"type":"text"' in line]
    assert (ran.returncode, texts) == (0, [DONE]), ran.stderr
    assert (opencode.work / "made.txt").read_text() == "two\n"
    assert set(asked(server)) == {"coder:8b"}
    assert opencode.configuration() == before
