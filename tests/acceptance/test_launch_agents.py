"""`am-proxy launch` with the real Codex, on a scripted server that looks like an Ollama."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.codex import MCP_SERVER
from tests.support.event_scripts import as_events
from tests.support.node import modules_with
from tests.support.running import surroundings
from tests.support.surveyed_responses import SurveyedFunctions
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import Ask, Script, Step

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
        for made in (self.home / ".codex", self.work, self.bin):
            made.mkdir(parents=True)
        (self.home / ".codex" / "config.toml").write_text('model = "gpt-6"\nmodel_reasoning_effort = "high"\n')

    def install(self, name: str, program: Path) -> None:
        """Put a program on the path."""
        (self.bin / name).symlink_to(program)

    @property
    def environ(self) -> dict[str, str]:
        """What the command is started with."""
        path = f"{self.bin}:{os.environ['PATH']}"
        spaces = {f"XDG_{name}_HOME": "" for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        return surroundings({**spaces, "HOME": str(self.home), "PATH": path, "PWD": str(self.work)})

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


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def codex(machine: Machine) -> Machine:
    machine.install("codex", modules_with("@openai/codex") / "@openai" / "codex" / "bin" / "codex.js")
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


def test_codex_works_by_the_profile_that_is_printed(codex: Machine) -> None:
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
            printed = codex.launch("codex", "--upstream", server.url, "--port", port, "--print")
            assert printed.returncode == 0, printed.stderr
            (codex.home / ".codex" / "am.config.toml").write_text(printed.stdout)
            (command,) = (line[2:] for line in printed.stdout.splitlines() if line.startswith("# curl "))
            subprocess.run(command, shell=True, env=codex.environ, check=True)  # noqa: S602 — as a user pastes it
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
