"""The Codex CLI: it talks, runs a command, edits a file, asks a plugged-in server, and closes every loop.

The model's server refuses what strict ones refuse. `make conformance` tries the rest.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.clients.tapped import tapped
from tests.support.codex import NOWHERE, Codex
from tests.wire.configuration import Key, Model, Server, Settings, Table, Upstream
from tests.wire.program import own_program, serving
from tests.wire.script import call_turn, calls, more, refuses, says, text_turn, thinks, turn
from tests.wire.servers import ChatUpstream, Script

DONE = "Done: naïve 😀."
PATCH = """\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello
+Hello "world" \\o/ 😀
*** End Patch
"""


@contextmanager
def behind(*scripts: Script, keys: Sequence[Table] = (), websocket: bool = True) -> Iterator[tuple[str, ChatUpstream]]:
    """A server with one model, which says what the scripts say."""
    with ChatUpstream(*scripts) as upstream, serving(settings(upstream, keys=keys, websocket=websocket)) as url:
        yield url, upstream


def settings(upstream: ChatUpstream, *, keys: Sequence[Table] = (), websocket: bool = True) -> str:
    return Settings(
        server=Server(websocket=websocket),
        keys=list(keys),
        upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key="sk-scripted")},
        models={"coder": Model(upstream="scripted", context_window=64_000, reasoning_efforts=["low", "high"])},
    )


def given_back(upstream: ChatUpstream) -> list[dict[str, Any]]:
    """What stands behind the user's prompt in the last ask: the calls, and what the tools gave."""
    messages: list[dict[str, Any]] = upstream.asks[-1].body["messages"]
    prompt = max(index for index, message in enumerate(messages) if message["role"] == "user")
    return messages[prompt + 1 :]


def pieces(text: str) -> list[str]:
    """Cut so that escapes fall apart."""
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def test_it_shows_what_the_model_thinks_and_says(codex: Codex) -> None:
    with behind(turn(thinks("I weigh "), thinks("it up."), *map(says, pieces(DONE)))) as (url, upstream):
        codex.set_up(url, "coder")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert [item["text"] for item in ran.items("reasoning")] == ["I weigh it up."]
    assert len(upstream.asks) == 1


def test_of_its_usual_request_only_the_hosted_search_is_a_warning(
    codex: Codex,
) -> None:
    """It sends `prompt_cache_key` and `client_metadata` every time; their loss changes nothing."""
    with ChatUpstream(text_turn(DONE)) as upstream, own_program(settings(upstream)) as program:
        codex.set_up(program.url, "coder")
        ran = codex.run("Do it")
        line = program.turn()
    assert ran.said == [DONE]
    [warning] = line["warnings"]
    assert re.match(r"tools\[\d+\] was left out.*web_search", warning)


def test_it_runs_a_command_and_gives_back_what_that_printed(codex: Codex) -> None:
    arguments = json.dumps({"cmd": "echo one && echo two > made.txt"})
    with behind(call_turn("exec_command", *pieces(arguments)), text_turn(DONE)) as (url, upstream):
        codex.set_up(url, "coder")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert (codex.work / "made.txt").read_text("utf-8") == "two\n"
    assert [(item["aggregated_output"], item["exit_code"]) for item in ran.items("command_execution")] == [("one\n", 0)]
    call, output = given_back(upstream)
    assert [made["function"] for made in call["tool_calls"]] == [{"name": "exec_command", "arguments": arguments}]
    assert "one\n" in output["content"]


def test_it_edits_a_file_with_its_free_form_tool(codex: Codex) -> None:
    """The patch leaves the model inside JSON and reaches Codex as it was meant, to the letter."""
    arguments = json.dumps({"input": PATCH})
    with behind(call_turn("apply_patch", *pieces(arguments)), text_turn(DONE)) as (url, upstream):
        codex.set_up(url, "coder")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
    assert [[change["kind"] for change in item["changes"]] for item in ran.items("file_change")] == [["update"]]
    call, output = given_back(upstream)
    assert [json.loads(made["function"]["arguments"]) for made in call["tool_calls"]] == [{"input": PATCH}]
    assert "greeting.txt" in output["content"]


def test_it_edits_a_file_with_a_patch_that_the_model_has_wrapped(codex: Codex) -> None:
    """In a fence under another key, with asterisks behind its first and last line: Codex refuses each of these."""
    wrapped = PATCH.replace(" Patch\n", " Patch ***\n")
    arguments = json.dumps({"patch": f"```diff\n{wrapped}```\n"})
    with behind(call_turn("apply_patch", *pieces(arguments)), text_turn(DONE)) as (url, upstream):
        codex.set_up(url, "coder")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
    call, _ = given_back(upstream)
    assert [json.loads(made["function"]["arguments"]) for made in call["tool_calls"]] == [{"input": PATCH}]


def test_it_asks_a_plugged_in_server_and_runs_a_command_in_the_same_turn(codex: Codex) -> None:
    """A tool of a Model Context Protocol server stands in a namespace; two calls are answered in their order."""
    both = turn(
        calls(0, "mcp__weather__look_up", id="call_a"),
        calls(1, "exec_command", id="call_b"),
        more(1, '{"cmd":"echo one"}'),
        more(0, '{"city":"Paris"}'),
        reason="tool_calls",
    )
    with behind(both, text_turn(DONE)) as (url, upstream):
        codex.set_up(url, "coder")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert [(item["server"], item["tool"], item["arguments"]) for item in ran.items("mcp_tool_call")] == [
        ("weather", "look_up", {"city": "Paris"})
    ]
    call, *outputs = given_back(upstream)
    assert [made["function"]["name"] for made in call["tool_calls"]] == ["mcp__weather__look_up", "exec_command"]
    assert [output["tool_call_id"] for output in outputs] == ["call_a", "call_b"]
    assert ("21 degrees in Paris" in outputs[0]["content"], "one\n" in outputs[1]["content"]) == (True, True)


@pytest.mark.parametrize(
    "script",
    [turn(says(DONE), reason="length"), turn(refuses(DONE))],
    ids=["an answer that ends at a limit", "a refusal"],
)
def test_it_shows_what_it_would_else_throw_away(codex: Codex, script: Script) -> None:
    with behind(script) as (url, _):
        codex.set_up(url, "coder")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])


def test_a_key_comes_from_the_variable_that_env_key_names(codex: Codex) -> None:
    with behind(text_turn(DONE), keys=[Key(name="alice", value="sk-alice")]) as (url, upstream):
        codex.set_up(url, "coder", provider='env_key = "AM_KEY"\nstream_max_retries = 0', token="sk-alice")
        assert codex.run("Do it", environ={"AM_KEY": "sk-alice"}).said == [DONE]
        refused = codex.run("Do it", environ={"AM_KEY": "sk-bob"})
    assert (refused.code, refused.said, len(upstream.asks)) == (1, [], 1)
    assert any("401" in error for error in refused.errors), refused.errors


def test_logged_in_to_chatgpt_its_own_provider_posts_compressed_bodies_where_websockets_are_off(
    codex: Codex,
) -> None:
    """Nothing of this leaves the machine."""
    scripts = call_turn("exec_command", json.dumps({"cmd": "echo one"})), text_turn(DONE)
    with behind(*scripts, websocket=False) as (url, upstream), tapped(url) as tap:
        codex.set_up(tap.url, "coder")
        codex.log_in(by_address=f"{tap.url}/v1")
        ran = codex.run("Do it", environ={"HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"})
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert tap.posted == ["zstd"] * 2
    assert "one\n" in given_back(upstream)[1]["content"]
