"""Reasoning that Claude's server does not take back is left out of a second ask, and the conversation goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest
from openai import OpenAI

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.demo_behaviours import WEATHER
from tests.support.metrics import samples
from tests.support.servers import KEY, Answer, AnthropicUpstream, Calls, Hides, Says, Status, Thinks
from tests.support.serving import serving
from tests.support.tool_loops import Json, Loop

VERSIONS: Final = ("claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-5")
"""One that thinks with a budget, one that thinks as needed if asked, and one that thinks unasked."""
BEGINS: Final[Answer] = [Thinks("Rome."), Hides("Secret."), Calls("get_weather", '{"city": "Rome"}')]
GOES_ON: Final[Answer] = [Calls("get_weather", '{"city": "Oslo"}')]
ENDS: Final[Answer] = [Says("It is fine.")]
ROME: Final[Json] = {"role": "user", "content": "Rome?"}
THANKS: Final[Json] = {"role": "user", "content": "Thanks."}
SIGNATURE: Final = "messages.1.content.0: Invalid `signature` in `thinking` block"
IN_SEALS: Final = ["reasoning.encrypted_content"]
WORDS: Final = {
    "signature": SIGNATURE,
    "redacted": "messages.23.content.2: Invalid `data` in `redacted_thinking` block",
    "changed": "messages.9.content.15: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
    "be modified. These blocks must remain as they were in the original response.",
    "a search": "messages.1.content.3: Invalid `encrypted_content` in `web_search_result` block",
    "through another gateway": '{"type":"error","error":{"message":"messages.1.content.0: Invalid signature in '
    'thinking block"}}',
}


@contextmanager
def served(version: str, *, via: str = "messages", **server: Any) -> Iterator[tuple[OpenAI, AnthropicUpstream]]:
    """A client of a server whose model `m` is this Claude."""
    with AnthropicUpstream() as claude:
        there: Json = {"via": via, "provider": "anthropic", "base_url": claude.url, "api_key": Secret(KEY)}
        settings = Settings(
            server=Server(metrics="open", **server),
            upstreams={"claude": Upstream.model_validate({**there, "breaker_failures": 1})},
            models={"m": Model(upstream="claude", name=version)},
        )
        with serving(settings) as url, OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
            yield client, claude


def kinds(claude: AnthropicUpstream, ask: int) -> list[list[str]]:
    """The types of the blocks of each message in this request."""
    return [[block["type"] for block in message["content"]] for message in claude.asks[ask].body["messages"]]


def thinking(claude: AnthropicUpstream, ask: int) -> str | None:
    """How the model is asked to think in this request."""
    asked: Json = claude.asks[ask].body.get("thinking") or {}
    return asked.get("type")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_refused_thoughts_in_the_middle_of_a_loop_are_left_out_of_a_second_ask(version: str, *, stream: bool) -> None:
    """A model that thinks with a budget may not think in a loop that has lost the thoughts it began with."""
    with served(version) as (client, claude):
        claude.say(BEGINS, [], GOES_ON, ENDS)
        loop = Loop(client, "m", [], stream)
        outputs = loop.run(loop.ask(ROME))
        claude.said.clear()  # as another account's server, which knows none of the signatures
        assert [item.type for item in loop.ask(*outputs).output] == ["function_call"]
        assert all("Invalid `signature`" in fault for fault in claude.violations)
        claude.violations.clear()
        assert kinds(claude, 1) == [["text"], ["thinking", "redacted_thinking", "tool_use"], ["tool_result"]]
        assert kinds(claude, 2) == [["text"], ["tool_use"], ["tool_result"]]
        assert thinking(claude, 2) == (None if version == VERSIONS[0] else "adaptive")


@pytest.mark.parametrize("version", VERSIONS)
def test_thinking_goes_on_after_refused_thoughts_of_an_earlier_turn(version: str) -> None:
    with served(version) as (client, claude):
        claude.say([Thinks("Hm."), Says("Fine.")], [], [Thinks("Polite."), Says("You are welcome.")])
        loop = Loop(client, "m", [])
        loop.ask(ROME)
        claude.said.clear()
        assert [item.type for item in loop.ask(THANKS).output] == ["reasoning", "message"]
        claude.violations.clear()
        assert kinds(claude, 2) == [["text"], ["text"], ["text"]]
        assert thinking(claude, 2) == ("enabled" if version == VERSIONS[0] else "adaptive")


def history(client: OpenAI, claude: AnthropicUpstream, *next_steps: list[Any]) -> list[Json]:
    """A conversation with thoughts. The server then follows these steps."""
    claude.say([Thinks("Hm."), Says("Fine.")])
    body = {"model": "m", "input": [ROME], "reasoning": {"effort": "low"}, "include": IN_SEALS}
    output = httpx.post(f"{client.base_url}responses", json=body).raise_for_status().json()["output"]
    claude.scripts = ([], *next_steps)
    return [ROME, *output, THANKS]


def refused(words: str) -> list[Any]:
    """The refusal in these words."""
    return [Status(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_the_client_gets_a_warning_and_the_breaker_no_failure(words: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), served("claude-sonnet-4-6") as (client, claude):
        items = history(client, claude, refused(words))
        claude.scripts = (*claude.scripts, claude.streamed([Says("Bye.")]))
        body = {"model": "m", "input": items, "reasoning": {"effort": "low"}}
        answer = httpx.post(f"{client.base_url}responses", json=body)
        counted = samples(httpx.get(str(client.base_url).removesuffix("/v1/") + "/metrics").text)
    assert answer.json()["output"][0]["content"][0]["text"] == "Bye."
    assert "input[1] was left out: this model's server refused" in answer.headers["x-am-warnings"]
    assert len(claude.asks) == 3
    assert "thinking" not in str(kinds(claude, 2))
    assert counted['am_proxy_circuit_open{upstream="claude"}'] == 0
    [line] = [each.__dict__["fields"] for each in caplog.records if each.name == "am_proxy.turn"][1:]
    assert (line["finish"], line["retries"]) == ("completed", {"claude": 1})
    assert "input[1] was left out" in str(line["warnings"])


MISSED: Final = {
    "deepseek": "The `content[].thinking` in the thinking mode must be passed back to the API.",
    "deepseek, before": "Missing thinking block in the assistant message at message index 3. For more information, …",
    "kimi": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
}


@pytest.mark.parametrize("effort", [None, "low"])
@pytest.mark.parametrize("words", MISSED.values(), ids=MISSED)
def test_a_server_that_misses_thoughts_of_earlier_turns_is_asked_not_to_think(words: str, effort: str | None) -> None:
    """DeepSeek and Kimi want them back before every call. A client may not have kept them."""
    with served("deepseek-v4-pro") as (client, claude):
        claude.say(ENDS)
        claude.scripts = (refused(words), *claude.scripts)
        call = {"type": "function_call", "call_id": "a", "name": "get_weather", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "a", "output": "Fine."}
        said = {"role": "assistant", "content": "It is fine."}
        body: Json = {"model": "m", "input": [ROME, call, output, said, THANKS], "reasoning": {"effort": effort}}
        answer = httpx.post(f"{client.base_url}responses", json={**body, "tools": [WEATHER]})
        assert thinking(claude, 0) == (None if effort is None else "enabled")
        assert thinking(claude, 1) == "disabled"
    assert answer.json()["status"] == "completed"
    assert "its server wants the reasoning before earlier tool calls back" in answer.headers["x-am-warnings"]


def test_schemas_that_are_too_much_are_not_enforced_in_a_second_ask() -> None:
    """What is too much is not documented: each server compiles one grammar of all schemas."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    too_large = "The compiled grammar is too large, which would cause performance issues."
    with served("claude-sonnet-4-6") as (client, claude):
        claude.say([Says('{"x": "y"}')])
        claude.scripts = (refused(too_large), *claude.scripts)
        body: Json = {"model": "m", "input": "Hi", "tools": [{**WEATHER, "parameters": schema, "strict": True}]}
        body["text"] = {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}}
        answer = httpx.post(f"{client.base_url}responses", json=body)
        first, second = (ask.body for ask in claude.asks)
    assert answer.json()["status"] == "completed"
    assert (first["tools"][0]["strict"], "output_config" in first) == (True, True)
    assert ("strict" in second["tools"][0], "output_config" in second) == (False, False)
    assert "must be valid by this JSON schema" in second["system"][0]["text"]
    assert "'strict' on tools has no effect" in answer.headers["x-am-warnings"]


def test_it_is_asked_once_more_and_not_again() -> None:
    with served("claude-sonnet-4-6") as (client, claude):
        items = history(client, claude, refused(SIGNATURE))
        answer = httpx.post(f"{client.base_url}responses", json={"model": "m", "input": items})
    assert (answer.status_code, len(claude.asks)) == (400, 3)
    assert SIGNATURE in answer.json()["error"]["message"]


def test_a_strict_server_refuses_instead() -> None:
    with served("claude-sonnet-4-6", strict=True) as (client, claude):
        items = history(client, claude, refused(SIGNATURE))
        answer = httpx.post(f"{client.base_url}responses", json={"model": "m", "input": items})
    assert (answer.status_code, len(claude.asks)) == (400, 2)


def test_over_a_websocket() -> None:
    with served("claude-sonnet-4-5") as (client, claude), client.responses.connect() as connection:
        claude.say(BEGINS, [], ENDS)
        asking: Json = {"model": "m", "tools": [WEATHER], "include": IN_SEALS, "reasoning": {"effort": "low"}}
        connection.response.create(**asking, input=[ROME])  # type: ignore[list-item]
        first = _last(connection)
        claude.said.clear()
        call = next(item for item in first["output"] if item["type"] == "function_call")
        output: Json = {"type": "function_call_output", "call_id": call["call_id"], "output": "Fine."}
        connection.response.create(**asking, input=[output], previous_response_id=first["id"])  # type: ignore[list-item]
        assert _last(connection)["status"] == "completed"
        claude.violations.clear()
        assert kinds(claude, 2) == [["text"], ["tool_use"], ["tool_result"]]


def _last(connection: Any) -> Json:
    for event in connection:
        if event.type in {"response.completed", "response.failed", "error"}:
            body: Json = event.to_dict()
            return dict(body["response"])
    raise AssertionError


def test_tokens_are_counted_without_the_refused_thoughts() -> None:
    with served("claude-sonnet-4-6") as (client, claude):
        items = history(client, claude, refused(SIGNATURE), [Status(200, {"input_tokens": 42})])
        claude.counts = False
        claude.faults = lambda ask: []  # type: ignore[method-assign]  # noqa: ARG005 — the name is that of the method
        counted = httpx.post(f"{client.base_url}responses/input_tokens", json={"model": "m", "input": items})
    assert (counted.json()["input_tokens"], counted.headers["x-am-token-count"]) == (42, "upstream")
    assert "refused" in counted.headers["x-am-warnings"]


@pytest.mark.xdist_group("litellm")
def test_over_litellm() -> None:
    with served("claude-sonnet-4-5", via="litellm") as (client, claude):
        claude.say(BEGINS, [], ENDS)
        loop = Loop(client, "m", [])
        outputs = loop.run(loop.ask(ROME))
        claude.said.clear()
        assert loop.ask(*outputs).output_text == "It is fine."
        claude.violations.clear()
        assert kinds(claude, 2)[1] == ["tool_use"]
