"""The Codex CLI on servers whose Responses API knows only functions: a command, a patch, a plugged-in server.

Over HTTP and over a websocket. The servers refuse what real ones refuse: see `tests/support/servers/functions_only.py`.
"""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from app.settings import Model, Secret, Settings, Upstream
from tests.support.codex import Codex, modules_with
from tests.support.servers import KEY, Answer, Calls, Says, Thinks
from tests.support.servers.functions_only import FUNCTION_SERVERS
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("node")

DONE: Final = "Done: naïve 😀."
PATCH: Final = """\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello
+Hello "world" \\o/ 😀
*** End Patch
"""


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    modules = modules_with("@openai/codex")
    if modules is None or shutil.which("node") is None:
        pytest.skip("the Codex CLI was NOT tried: npm install --prefix .cache/npm @openai/codex")
    return Codex(modules, tmp_path)


@pytest.mark.parametrize("provider", ["", "supports_websockets = true"], ids=["HTTP", "websocket"])
@pytest.mark.parametrize("name", FUNCTION_SERVERS)
def test_it_runs_a_command_patches_a_file_and_asks_a_plugged_in_server(codex: Codex, name: str, provider: str) -> None:
    answers: list[Answer] = [
        [Thinks("Look first."), Says("I look."), Calls("exec_command", json.dumps({"cmd": "echo one"}))],
        [Thinks("Patch."), Calls("apply_patch", json.dumps({"input": PATCH}))],
        [Calls("mcp__weather__look_up", json.dumps({"city": "Paris"}))],
        [Says(DONE)],
    ]
    with FUNCTION_SERVERS[name]().say(*answers) as server:
        settings = Settings(
            upstreams={"there": Upstream(via="responses", provider=name, base_url=server.url, api_key=Secret(KEY))},
            models={"coder": Model(upstream="there", name=server.model, context_window=64_000)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder", provider=provider)
            codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
            ran = codex.run("Do it")
        assert (ran.code, ran.said[-1], ran.errors) == (0, DONE, [])
        assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
        assert [item["aggregated_output"] for item in ran.items("command_execution")] == ["one\n"]
        assert [(item["tool"], item["arguments"]) for item in ran.items("mcp_tool_call")] == [
            ("look_up", {"city": "Paris"})
        ]
        asks = [ask.body for ask in server.asks]
        assert len(asks) == len(answers)
        assert all(ask["input"][: len(before["input"])] == before["input"] for before, ask in pairwise(asks))
        made = [item for item in asks[-1]["input"] if item["type"] == "function_call"]
        assert [item["name"] for item in made] == ["exec_command", "apply_patch", "mcp__weather__look_up"]
        assert json.loads(made[1]["arguments"]) == {"input": PATCH}
        assert {json.dumps(ask["tools"]) for ask in asks} == {json.dumps(asks[0]["tools"])}
