"""The Codex CLI over each way to ask a model: its tools over a websocket, and an agent of its own.

The native Responses server is another AM Proxy.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from app.settings import Model, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import call_turn, text_turn
from tests.support.servers import Ask, ScriptedUpstream, Step
from tests.support.serving import serving
from tests.support.summary_lanes import CHAT, SUMMARY_LANES, SummaryLane

pytestmark = pytest.mark.xdist_group("litellm")

NATIVE: Final = "native"
LANES: Final[dict[str, SummaryLane]] = {
    **SUMMARY_LANES,
    "litellm": CHAT._replace(upstream={"via": "litellm", "provider": "openai"}),
    NATIVE: CHAT,
}
DONE: Final = "Done: naïve 😀."
PATCH: Final = """\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello
+Hello "world" \\o/ 😀
*** End Patch
"""
TASK: Final = "Count the files."
each_lane = pytest.mark.parametrize("name", LANES)


@contextmanager
def served(name: str, upstream: ScriptedUpstream) -> Iterator[str]:
    """A server of ours before this one."""
    with serving(LANES[name].settings(upstream.url, 64_000)) as url:
        if name != NATIVE:
            yield url
            return
        relay = Upstream(via="responses", base_url=f"{url}/v1")
        model = Model(upstream="behind", context_window=64_000)
        with serving(Settings(upstreams={"behind": relay}, models={"m": model})) as before:
            yield before


@each_lane
def test_it_uses_its_tools_over_a_websocket(codex: Codex, name: str, caplog: pytest.LogCaptureFixture) -> None:
    lane = LANES[name]
    scripts = [
        call_turn("exec_command", json.dumps({"cmd": "echo one"}), id="call_1"),
        call_turn("apply_patch", json.dumps({"input": PATCH}), id="call_2"),
        call_turn("mcp__weather__look_up", json.dumps({"city": "Paris"}), id="call_3"),
        text_turn(DONE),
    ]
    with lane.server(*map(lane.translated, scripts)) as upstream, served(name, upstream) as url:
        codex.set_up(url, "m", provider="supports_websockets = true")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        with caplog.at_level("INFO", "am_proxy.turn"):
            ran = codex.run("Do it")
    assert (ran.code, ran.said[-1], ran.errors) == (0, DONE, [])
    assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
    assert [item["aggregated_output"] for item in ran.items("command_execution")] == ["one\n"]
    assert [(item["tool"], item["arguments"]) for item in ran.items("mcp_tool_call")] == [
        ("look_up", {"city": "Paris"})
    ]
    assert len(upstream.asks) == len(scripts)
    outputs = [text for role, text in lane.texts(upstream.asks[-1]) if role == "tool"]
    assert len(outputs) == len(scripts) - 1
    assert "one\n" in outputs[0]
    turns = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert any(turn.get("websocket") for turn in turns)


@each_lane
def test_an_agent_of_its_own_reads_its_task_and_is_heard(codex: Codex, name: str) -> None:
    lane = LANES[name]

    def steps(ask: Ask) -> list[Step]:
        """The agent is the one without a call; both run at the same time."""
        texts = lane.texts(ask)
        words = "\n".join(text for _, text in texts)
        if "Type: NEW_TASK" in words:
            return [*text_turn("Seven.")]
        if all(role != "tool" for role, _ in texts):
            arguments = {"message": TASK, "task_name": "helper", "fork_turns": "none"}
            return [*call_turn("collaboration__spawn_agent", json.dumps(arguments), id="call_1")]
        if "Seven." not in words:
            return [*call_turn("collaboration__wait_agent", json.dumps({"timeout_ms": 10_000}), id="call_2")]
        return [*text_turn(DONE)]

    with lane.server(lane.translated(steps)) as upstream, served(name, upstream) as url:
        codex.set_up(url, "m")
        ran = codex.run("Do it", "--enable", "multi_agent_v2")
    assert (ran.code, ran.said[-1], ran.errors) == (0, DONE, [])
    (task,) = [texts for texts in map(lane.texts, upstream.asks) if any("Type: NEW_TASK" in text for _, text in texts)]
    role, heard = task[-1]
    assert role == "user"
    assert TASK in heard
    assert any("Message from the agent '/root/helper':" in text for _, text in lane.texts(upstream.asks[-1]))
