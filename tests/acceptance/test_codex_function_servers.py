"""The Codex CLI on servers whose Responses API knows only functions: a command, a patch, a plugged-in server.

The servers refuse what real ones refuse: see `tests/wire/servers/functions_only.py`.
"""

import json
from itertools import cycle, pairwise
from typing import Final

import pytest

from app.settings import Model, Secret, Settings, Upstream
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.wire.servers import KEY, Answer, Ask, Calls, Says, Step, Thinks
from tests.wire.servers.functions_only import FUNCTION_SERVERS, FunctionsUpstream

DONE: Final = "Done: naïve 😀."
PATCH: Final = """\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello
+Hello "world" \\o/ 😀
*** End Patch
"""
OVER: Final = dict(zip(FUNCTION_SERVERS, cycle(["", "supports_websockets = true"]), strict=False))
"""HTTP or a websocket: no server sees the difference."""


def settings_of(name: str, server: FunctionsUpstream) -> Settings:
    """One model on this server."""
    return Settings(
        upstreams={"there": Upstream(via="responses", provider=name, base_url=server.url, api_key=Secret(KEY))},
        models={"coder": Model(upstream="there", name=server.model, context_window=64_000)},
    )


@pytest.mark.parametrize("name", FUNCTION_SERVERS)
def test_it_runs_a_command_patches_a_file_and_asks_a_plugged_in_server(codex: Codex, name: str) -> None:
    answers: list[Answer] = [
        [Thinks("Look first."), Says("I look."), Calls("exec_command", json.dumps({"cmd": "echo one"}))],
        [Thinks("Patch."), Calls("apply_patch", json.dumps({"input": PATCH}))],
        [Calls("mcp__weather__look_up", json.dumps({"city": "Paris"}))],
        [Says(DONE)],
    ]
    with FUNCTION_SERVERS[name]().say(*answers) as server:
        with serving(settings_of(name, server)) as url:
            codex.set_up(url, "coder", provider=OVER[name])
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


TASK: Final = "Count the files."


def test_an_agent_of_its_own_reads_its_task_and_is_heard(codex: Codex) -> None:
    """What they say to each other is marked as encrypted, for OpenAI's servers: others ignored or refused it."""
    server = FUNCTION_SERVERS["deepseek"]().say()

    def steps(ask: Ask) -> list[Step]:
        """The agent is the one without a call; both run at the same time."""
        words = json.dumps(ask.body["input"])
        made = [item["name"] for item in ask.body["input"] if item["type"] == "function_call"]
        if "Type: NEW_TASK" in words:
            return server.streamed([Says("Seven.")])
        if not made:
            arguments = {"message": TASK, "task_name": "helper", "fork_turns": "none"}
            return server.streamed([Calls("collaboration__spawn_agent", json.dumps(arguments))])
        if "Seven." not in words:
            return server.streamed([Calls("collaboration__wait_agent", json.dumps({"timeout_ms": 10_000}))])
        return server.streamed([Says(DONE)])

    server.scripts = (steps,)
    with server, serving(settings_of("deepseek", server)) as url:
        codex.set_up(url, "coder")
        ran = codex.run("Do it", "--enable", "multi_agent_v2")
    assert (ran.code, ran.said[-1], ran.errors) == (0, DONE, [])
    (task,) = [ask.body for ask in server.asks if "Type: NEW_TASK" in json.dumps(ask.body["input"])]
    heard = [part["text"] for part in task["input"][-1]["content"]]
    assert (task["input"][-1]["role"], heard[-1]) == ("user", TASK)
    (answer,) = [item for item in server.asks[-1].body["input"] if "Seven." in json.dumps(item)]
    assert answer["content"][0]["text"] == "Message from the agent '/root/helper':"
