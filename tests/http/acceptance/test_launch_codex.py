"""`launch codex` with the real Codex, on a scripted server that looks like an Ollama."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.http.acceptance.editor import editing
from tests.support.codex import MCP_SERVER
from tests.support.node import modules_with
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import COMMAND, ROOT, serving
from tests.wire.script import call_turn, text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream, Script

MODELS: Final = {
    "words:4b": shown("gemma", 131_072),
    "coder:8b": shown("qwen3", 65_536, "tools"),
    "seer:30b": shown("qwen3", 131_072, "tools", "vision"),
}
DONE: Final = "Done: naïve 😀."
PATCH: Final = """\
*** Begin Patch
*** Add File: made.txt
+two
*** End Patch
"""
EXEC: Final = ("--", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Do it")


class Machine:
    """A home with a configuration of Codex, a folder to work in, and Codex on the path."""

    def __init__(self, folder: Path, codex: Path) -> None:
        self.work = folder / "work"
        self._home = folder / "home"
        self._config = self._home / ".codex" / "config.toml"
        self._bin = folder / "bin"
        for made in (self._config.parent, self.work, self._bin):
            made.mkdir(parents=True)
        (self._bin / "codex").symlink_to(codex)
        with self._config.open("w") as config:
            config.write('model = "gpt-6"\nmodel_reasoning_effort = "high"\n\n')
            config.write(f'[mcp_servers.weather]\ncommand = "{sys.executable}"\nargs = ["{MCP_SERVER}"]\n')

    @property
    def environ(self) -> dict[str, str]:
        """What the command is started with: nothing of whoever runs the tests."""
        path = f"{self._bin}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self._home), "PWD": str(self.work), "PYTHONPATH": str(ROOT)}

    def launch(self, *words: str) -> list[str]:
        """The command to its end: what Codex shows its user. It leaves the configuration as it was."""
        before = self._config.read_bytes()
        ran = subprocess.run(
            [*COMMAND, "launch", "codex", *words],
            cwd=self.work,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        for warning in ("Model metadata", "nder-development"):  # without a catalogue; of what no user has chosen
            assert warning not in ran.stdout + ran.stderr
        assert self._config.read_bytes() == before
        events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        items = [event["item"] for event in events if event["type"] == "item.completed"]
        return [item["text"] for item in items if item["type"] == "agent_message"]


@pytest.fixture
def codex(tmp_path: Path) -> Machine:
    return Machine(tmp_path, modules_with("@openai/codex") / "@openai" / "codex" / "bin" / "codex.js")


def upstream(*scripts: Script) -> SurveyedServer:
    return SurveyedServer(ollama(MODELS), *scripts)


def test_it_runs_a_command_and_answers(codex: Machine) -> None:
    arguments = json.dumps({"cmd": "echo one && echo two > made.txt"})
    with upstream(call_turn("exec_command", arguments), text_turn(DONE)) as server:
        assert codex.launch("--upstream", server.url, *EXEC) == [DONE]
    assert (codex.work / "made.txt").read_text() == "two\n"
    asks = [ask.body for ask in server.asks if ask.path == server.chat_path and ask.raw]
    assert [ask["model"] for ask in asks] == ["coder:8b", "coder:8b"]
    assert "reasoning_effort" not in asks[-1]  # the user's setting is for another model


def test_it_searches_the_web_if_the_configuration_has_a_search(codex: Machine) -> None:
    call = call_turn("web__run", json.dumps({"search_query": [{"q": "cats"}]}))
    with upstream(call, text_turn(DONE)) as server, SearchServer() as searched:
        (codex.work / "am-proxy.toml").write_text(
            f'[search]\nbackend = "searxng"\nbase_url = "{searched.url}"\n'
            f'[upstreams.local]\nvia = "chat"\nprovider = "ollama"\nbase_url = "{server.url}"\n'
            '[models."coder:8b"]\nupstream = "local"\n'
        )
        assert codex.launch(*EXEC) == [DONE]
    assert [each.fields["q"] for each in searched.asked] == ["cats"]
    assert "web__run" in [tool["function"]["name"] for tool in server.asks[-1].body["tools"]]


def test_it_works_on_a_server_with_a_responses_api_of_its_own(codex: Machine) -> None:
    """It is another AM Proxy."""
    scripts = (
        call_turn("exec_command", json.dumps({"cmd": "echo one"}), id="call_1"),
        call_turn("apply_patch", json.dumps({"input": PATCH}), id="call_2"),
        call_turn("mcp__weather__look_up", json.dumps({"city": "Paris"}), id="call_3"),
        text_turn(DONE),
    )
    with ChatUpstream(*scripts) as upstream:
        behind = Upstream(via="chat", base_url=upstream.url)
        models = {"coder": Model(upstream="behind", context_window=65_536)}
        with serving(Settings(upstreams={"behind": behind}, models=models)) as url:
            assert codex.launch("--upstream", f"{url}/v1", *EXEC) == [DONE]
    assert (codex.work / "made.txt").read_text() == "two\n"
    assert len(upstream.asks) == len(scripts)


async def test_its_menu_shows_the_models_with_tools_and_no_others(codex: Machine) -> None:
    with upstream(text_turn(DONE)) as server:
        command = [*COMMAND, "launch", "codex", "--upstream", server.url, "--", "app-server"]
        async with editing(command, codex.work, codex.environ) as editor:
            listed = await editor.call("model/list")
    assert [(model["model"], model["isDefault"]) for model in listed["data"]] == [
        ("coder:8b", True),
        ("seer:30b", False),
    ]
