"""The Codex CLI over each way to ask a model: its tools and an agent of its own, over HTTP and a websocket.

Each way to ask is tried over both, with an API key or a login to ChatGPT, which is a local file: with one, Codex
compresses what it posts, and offers more tools. The native Responses server is another AM Proxy.
"""

import json
from typing import Final, NamedTuple

import pytest

from tests.http.acceptance.lanes import LANES, NATIVE, Lane, served
from tests.http.acceptance.tapped import tapped
from tests.support.codex import NOWHERE, Codex
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import Ask, Step

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


class Way(NamedTuple):
    """How Codex reaches a model."""

    lane: str
    transport: str
    login: str
    agents: bool

    def __str__(self) -> str:
        return f"{self.lane}, {self.transport}, {self.login}{', agents' if self.agents else ''}"


HTTP, SOCKET = "HTTP", "websocket"
KEY, OURS, ITS_OWN = "API key", "ChatGPT login", "ChatGPT login and its own provider"
"""The last one is at our address; it opens a websocket without being told to."""
WAYS: Final = [
    Way("chat", HTTP, OURS, agents=False),
    Way("chat", SOCKET, ITS_OWN, agents=True),
    Way("messages", HTTP, KEY, agents=True),
    Way("messages", SOCKET, OURS, agents=False),
    Way("litellm", HTTP, OURS, agents=True),
    Way("litellm", SOCKET, KEY, agents=False),
    Way(NATIVE, HTTP, OURS, agents=False),
    Way(NATIVE, SOCKET, KEY, agents=True),
]


def script(lane: Lane, ask: Ask, *, agents: bool) -> list[Step]:
    """What the model says. The agent is the one with a task; both run at the same time."""
    texts = lane.texts(ask)
    words = "\n".join(text for _, text in texts)
    given = [text for role, text in texts if role == "tool"]
    if "Type: NEW_TASK" in words:
        return [*(text_turn("Seven.") if given else call_turn("exec_command", '{"cmd":"echo seven"}', id="call_a"))]
    calls = [
        ("exec_command", {"cmd": "echo one"}),
        ("apply_patch", {"input": PATCH}),
        ("mcp__weather__look_up", {"city": "Paris"}),
        *([("collaboration__spawn_agent", {"message": TASK, "task_name": "helper", "fork_turns": "none"})] * agents),
    ]
    if len(given) < len(calls):
        name, arguments = calls[len(given)]
        return [*call_turn(name, json.dumps(arguments), id=f"call_{len(given)}")]
    if agents and "Seven." not in words:
        return [*call_turn("collaboration__wait_agent", '{"timeout_ms":10000}', id=f"call_{len(given)}")]
    return [*text_turn(DONE)]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_it_uses_its_tools_and_an_agent_of_its_own(codex: Codex, way: Way) -> None:
    """Nothing of this leaves the machine."""
    lane = LANES[way.lane]
    with (
        lane.server(lane.translated(lambda ask: script(lane, ask, agents=way.agents))) as upstream,
        served(way.lane, upstream) as url,
        tapped(url) as tap,
    ):
        is_told = way.transport == SOCKET and way.login != ITS_OWN
        codex.set_up(tap.url, "m", provider="supports_websockets = true" if is_told else "")
        if way.login != KEY:
            codex.log_in(by_address=f"{tap.url}/v1" if way.login == ITS_OWN else "")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        flags = ["--enable", "multi_agent_v2"] if way.agents else []
        ran = codex.run("Do it", *flags, environ={"HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"})
    assert (ran.code, ran.said[-1], ran.errors) == (0, DONE, [])
    assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
    assert [item["aggregated_output"] for item in ran.items("command_execution")] == ["one\n"]
    assert [(item["tool"], item["arguments"]) for item in ran.items("mcp_tool_call")] == [
        ("look_up", {"city": "Paris"})
    ]
    asked = [lane.texts(ask) for ask in upstream.asks]
    outputs = [text for role, text in asked[-1] if role == "tool"]
    assert ("one\n" in outputs[0], "21 degrees in Paris" in outputs[2]) == (True, True)
    tasks = [texts for texts in asked if any("Type: NEW_TASK" in text for _, text in texts)]
    assert len(tasks) == (2 if way.agents else 0)
    if way.agents:
        role, task = tasks[0][-1]
        assert (role, TASK in task) == ("user", True)
        assert "seven\n" in tasks[1][-1][1]
        assert any("Message from the agent '/root/helper':" in text for _, text in asked[-1])
    assert (tap.websockets > 0, tap.posted == []) == (way.transport == SOCKET,) * 2
    assert ("zstd" in tap.posted) is (way.transport == HTTP and way.login != KEY)
