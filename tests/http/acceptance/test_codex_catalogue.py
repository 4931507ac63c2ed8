"""The Codex CLI with a catalogue that it reads from the server, and with what a catalogue can ask of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.codex import Codex
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream

COMMAND = ("exec_command", {"cmd": "echo one"})
SCRIPT = ("exec", {"input": 'const result = await tools.exec_command({cmd: "echo one"}); text(result.output);'})


@contextmanager
def calling(name: str, arguments: dict[str, str]) -> Iterator[tuple[str, ChatUpstream]]:
    """A server whose model calls this tool, then says hello."""
    with ChatUpstream(call_turn(name, json.dumps(arguments)), text_turn("Hello.")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        model = Model(upstream="scripted", context_window=64_000)
        with serving(Settings(upstreams={"scripted": there}, models={"coder": model})) as url:
            yield url, upstream


def check_loop(codex: Codex, upstream: ChatUpstream) -> set[str]:
    """Codex runs the command that the model wants; the names of the tools that the model was offered."""
    ran = codex.run("Say hello")
    assert (ran.code, ran.said, ran.errors) == (0, ["Hello."], [])
    assert [item["aggregated_output"] for item in ran.items("command_execution")] == ["one\n"]
    output = upstream.asks[1].body["messages"][-1]
    assert (output["role"], "one\n" in output["content"]) == ("tool", True)
    return {tool["function"]["name"] for tool in upstream.asks[0].body["tools"]}


def test_it_reads_the_catalogue_at_its_address_if_it_has_a_key(codex: Codex) -> None:
    with calling(*COMMAND) as (url, upstream):
        address = f'model_catalog_url = "{url}/v1/models"\nexperimental_bearer_token = "none"'
        codex.set_up(url, "coder", provider=address)
        config = codex.folder / "config.toml"
        config.write_text(config.read_text("utf-8").replace('model_catalog_json = "models.json"\n', ""), "utf-8")
        (codex.folder / "models.json").unlink()
        assert {"exec_command", "apply_patch", "mcp__weather__look_up"} <= check_loop(codex, upstream)


@pytest.mark.parametrize(
    ("card", "call", "offered", "not_offered"),
    [
        ({"supports_search_tool": True}, COMMAND, {"tool_search", "exec_command"}, "mcp__weather__look_up"),
        (
            {"use_responses_lite": True, "multi_agent_version": "v2"},
            COMMAND,
            {"exec_command", "mcp__weather__look_up", "collaboration__spawn_agent"},
            "multi_agent_v1__spawn_agent",
        ),
        ({"tool_mode": "code_mode_only"}, SCRIPT, {"exec", "wait"}, "exec_command"),
        ({"tool_mode": "code_mode_only", "use_responses_lite": True}, SCRIPT, {"exec", "wait"}, "exec_command"),
    ],
    ids=["tool_search", "use_responses_lite", "tool_mode", "both"],
)
def test_what_its_catalogue_says_of_a_model_has_its_effect(
    codex: Codex, card: dict[str, Any], call: tuple[str, dict[str, str]], offered: set[str], not_offered: str
) -> None:
    with calling(*call) as (url, upstream):
        codex.set_up(url, "coder", card=card)
        names = check_loop(codex, upstream)
    assert offered <= names
    assert not_offered not in names
