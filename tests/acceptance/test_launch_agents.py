"""`am-proxy launch` with the real Codex and the real opencode, on a scripted server that looks like an Ollama."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.agents.opencode import ALONE
from tests.conformance.install import opencode_in
from tests.support.codex import MCP_SERVER
from tests.support.event_scripts import as_events
from tests.support.node import modules_with
from tests.support.running import surroundings
from tests.support.surveyed_responses import SurveyedFunctions
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import Ask, Script, Step

pytestmark = pytest.mark.xdist_group("node")

MODELS: Final = {
    "words:4b": shown("gemma", 131_072),
    "coder:8b": shown("qwen3", 65_536, "tools"),
    "seer:30b": shown("qwen3", 131_072, "tools", "vision"),
}
DONE: Final = "Done: naïve 😀."


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
    machine.install("codex", modules_with("@openai/codex") / "@openai" / "codex" / "bin" / "codex.js")
    return machine


@pytest.fixture
def opencode(machine: Machine) -> Machine:
    program = opencode_in(modules_with("opencode-ai"))
    assert program is not None, "the package has no program for this machine"
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
