"""The Codex CLI with a catalogue that it reads from the server: what is configured for a model has its effect."""

import json
from typing import Any

import pytest

from app.settings import Model, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import call_turn, text_turn
from tests.support.servers import ChatUpstream
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("node")

COMMAND = ("exec_command", {"cmd": "echo one"})
SCRIPT = ("exec", {"input": 'const result = await tools.exec_command({cmd: "echo one"}); text(result.output);'})


@pytest.mark.parametrize(
    ("options", "call", "offered", "not_offered"),
    [
        ({"tool_search": True}, COMMAND, {"tool_search", "exec_command"}, "mcp__weather__look_up"),
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
def test_it_reads_the_catalogue_at_its_address_if_it_has_a_key(
    codex: Codex, options: dict[str, Any], call: tuple[str, dict[str, str]], offered: set[str], not_offered: str
) -> None:
    name, arguments = call
    limits: dict[str, Any] = {"auto_compact_token_limit": 20_000, "default_reasoning_summary": "concise"}
    model = Model(upstream="scripted", context_window=64_000, **limits, **options)
    with ChatUpstream(call_turn(name, json.dumps(arguments)), text_turn("Hello.")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"scripted": there}, models={"coder": model})) as url:
            address = f'model_catalog_url = "{url}/v1/models"\nexperimental_bearer_token = "none"'
            codex.set_up(url, "coder", provider=address)
            config = codex.folder / "config.toml"
            config.write_text(config.read_text("utf-8").replace('model_catalog_json = "models.json"\n', ""), "utf-8")
            (codex.folder / "models.json").unlink()
            ran = codex.run("Say hello")
    assert (ran.code, ran.said, ran.errors) == (0, ["Hello."], [])
    assert [item["aggregated_output"] for item in ran.items("command_execution")] == ["one\n"]
    names = {tool["function"]["name"] for tool in upstream.asks[0].body["tools"]}
    assert offered <= names
    assert not_offered not in names
    output = upstream.asks[1].body["messages"][-1]
    assert (output["role"], "one\n" in output["content"]) == ("tool", True)
