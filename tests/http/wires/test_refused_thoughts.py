"""Reasoning that Claude's server does not take back is left out of a second ask, and the conversation goes on."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
from openai import OpenAI

from tests.support.demo_behaviours import WEATHER
from tests.support.metrics import samples
from tests.support.tool_loops import Json, Loop
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import Program, own_program, serving
from tests.wire.servers import KEY, Answer, AnthropicUpstream, Calls, Hides, Says, Status, Thinks

VERSIONS: Final = ("claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-5")
"""One that thinks with a budget, one that thinks as needed if asked, and one that thinks unasked."""
CLAUDE: Final = VERSIONS[1]
DEEPSEEK: Final = "deepseek-v4-pro"
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


@pytest.fixture(scope="module")
def server() -> Iterator[AnthropicUpstream]:
    with AnthropicUpstream() as server:
        yield server


@pytest.fixture
def claude(server: AnthropicUpstream) -> Iterator[AnthropicUpstream]:
    """It found nothing to refuse but what a test cleared."""
    yield server
    assert server.violations == []


def configuration(server: AnthropicUpstream, **settings: Any) -> str:
    """Each of these models, asked directly, and the first one over litellm as well."""
    there: Json = {"provider": "anthropic", "base_url": server.url, "api_key": KEY, "breaker_failures": 1}
    models = {name: Model(upstream="claude", name=name) for name in (*VERSIONS, DEEPSEEK)}
    return Settings(
        server=Server(metrics="open", **settings),
        upstreams={"claude": Upstream(via="messages", **there), "litellm": Upstream(via="litellm", **there)},
        models={**models, "over litellm": Model(upstream="litellm", name=VERSIONS[0])},
    )


@pytest.fixture(scope="module")
def program(server: AnthropicUpstream) -> Iterator[Program]:
    with own_program(configuration(server)) as program:
        yield program


@pytest.fixture(scope="module")
def client(program: Program) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{program.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def kinds(claude: AnthropicUpstream, ask: int) -> list[list[str]]:
    """The types of the blocks of each message in this request."""
    return [[block["type"] for block in message["content"]] for message in claude.asks[ask].body["messages"]]


def thinking(claude: AnthropicUpstream, ask: int) -> str | None:
    """How the model is asked to think in this request."""
    asked: Json = claude.asks[ask].body.get("thinking") or {}
    return asked.get("type")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_refused_thoughts_in_the_middle_of_a_loop_are_left_out_of_a_second_ask(
    client: OpenAI, claude: AnthropicUpstream, version: str, *, stream: bool
) -> None:
    """A model that thinks with a budget may not think in a loop that has lost the thoughts it began with."""
    claude.say(BEGINS, [], GOES_ON, ENDS)
    loop = Loop(client, version, [], stream)
    outputs = loop.run(loop.ask(ROME))
    claude.said.clear()  # as another account's server, which knows none of the signatures
    assert [item.type for item in loop.ask(*outputs).output] == ["function_call"]
    assert all("Invalid `signature`" in fault for fault in claude.violations)
    claude.violations.clear()
    assert kinds(claude, 1) == [["text"], ["thinking", "redacted_thinking", "tool_use"], ["tool_result"]]
    assert kinds(claude, 2) == [["text"], ["tool_use"], ["tool_result"]]
    assert thinking(claude, 2) == (None if version == VERSIONS[0] else "adaptive")


@pytest.mark.parametrize("version", VERSIONS)
def test_thinking_goes_on_after_refused_thoughts_of_an_earlier_turn(
    client: OpenAI, claude: AnthropicUpstream, version: str
) -> None:
    claude.say([Thinks("Hm."), Says("Fine.")], [], [Thinks("Polite."), Says("You are welcome.")])
    loop = Loop(client, version, [])
    loop.ask(ROME)
    claude.said.clear()
    assert [item.type for item in loop.ask(THANKS).output] == ["reasoning", "message"]
    claude.violations.clear()
    assert kinds(claude, 2) == [["text"], ["text"], ["text"]]
    assert thinking(claude, 2) == ("enabled" if version == VERSIONS[0] else "adaptive")


def history(client: OpenAI, claude: AnthropicUpstream, *next_steps: list[Any]) -> list[Json]:
    """A conversation with thoughts. The server then follows these steps."""
    claude.say([Thinks("Hm."), Says("Fine.")])
    body = {"model": CLAUDE, "input": [ROME], "reasoning": {"effort": "low"}, "include": IN_SEALS}
    output = httpx.post(f"{client.base_url}responses", json=body).raise_for_status().json()["output"]
    claude.scripts = ([], *next_steps)
    return [ROME, *output, THANKS]


def refused(words: str) -> list[Any]:
    """The refusal in these words."""
    return [Status(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_the_client_gets_a_warning_and_the_breaker_no_failure(
    program: Program, client: OpenAI, claude: AnthropicUpstream, words: str
) -> None:
    items = history(client, claude, refused(words))
    claude.scripts = (*claude.scripts, claude.streamed([Says("Bye.")]))
    body = {"model": CLAUDE, "input": items, "reasoning": {"effort": "low"}}
    answer = httpx.post(f"{client.base_url}responses", json=body)
    assert answer.json()["output"][0]["content"][0]["text"] == "Bye."
    assert "input[1] was left out: this model's server refused" in answer.headers["x-am-warnings"]
    assert len(claude.asks) == 3
    assert "thinking" not in str(kinds(claude, 2))
    counted = samples(httpx.get(f"{program.url}/metrics").text)
    assert counted['am_proxy_circuit_open{upstream="claude"}'] == 0
    line = program.turn(answer.headers["x-request-id"])
    assert (line["finish"], line["retries"]) == ("completed", {"claude": 1})
    assert "input[1] was left out" in str(line["warnings"])


MISSED: Final = {
    "deepseek": "The `content[].thinking` in the thinking mode must be passed back to the API.",
    "deepseek, before": "Missing thinking block in the assistant message at message index 3. For more information, …",
    "kimi": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
}


@pytest.mark.parametrize("effort", [None, "low"])
@pytest.mark.parametrize("words", MISSED.values(), ids=MISSED)
def test_a_server_that_misses_thoughts_of_earlier_turns_is_asked_not_to_think(
    client: OpenAI, claude: AnthropicUpstream, words: str, effort: str | None
) -> None:
    """DeepSeek and Kimi want them back before every call. A client may not have kept them."""
    claude.say(ENDS)
    claude.scripts = (refused(words), *claude.scripts)
    call = {"type": "function_call", "call_id": "a", "name": "get_weather", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": "Fine."}
    said = {"role": "assistant", "content": "It is fine."}
    body: Json = {"model": DEEPSEEK, "input": [ROME, call, output, said, THANKS], "reasoning": {"effort": effort}}
    answer = httpx.post(f"{client.base_url}responses", json={**body, "tools": [WEATHER]})
    assert thinking(claude, 0) == (None if effort is None else "enabled")
    assert thinking(claude, 1) == "disabled"
    assert answer.json()["status"] == "completed"
    assert "its server wants the reasoning before earlier tool calls back" in answer.headers["x-am-warnings"]


def test_schemas_that_are_too_much_are_not_enforced_in_a_second_ask(client: OpenAI, claude: AnthropicUpstream) -> None:
    """What is too much is not documented: each server compiles one grammar of all schemas."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    too_large = "The compiled grammar is too large, which would cause performance issues."
    claude.say([Says('{"x": "y"}')])
    claude.scripts = (refused(too_large), *claude.scripts)
    body: Json = {"model": CLAUDE, "input": "Hi", "tools": [{**WEATHER, "parameters": schema, "strict": True}]}
    body["text"] = {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}}
    answer = httpx.post(f"{client.base_url}responses", json=body)
    first, second = (ask.body for ask in claude.asks)
    assert answer.json()["status"] == "completed"
    assert (first["tools"][0]["strict"], "output_config" in first) == (True, True)
    assert ("strict" in second["tools"][0], "output_config" in second) == (False, False)
    assert "must be valid by this JSON schema" in second["system"][0]["text"]
    assert "'strict' on tools has no effect" in answer.headers["x-am-warnings"]


def test_it_is_asked_once_more_and_not_again(client: OpenAI, claude: AnthropicUpstream) -> None:
    items = history(client, claude, refused(SIGNATURE))
    answer = httpx.post(f"{client.base_url}responses", json={"model": CLAUDE, "input": items})
    assert (answer.status_code, len(claude.asks)) == (400, 3)
    assert SIGNATURE in answer.json()["error"]["message"]


def test_a_strict_server_refuses_instead(claude: AnthropicUpstream) -> None:
    with (
        serving(configuration(claude, strict=True)) as url,
        OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
    ):
        items = history(client, claude, refused(SIGNATURE))
        answer = httpx.post(f"{url}/v1/responses", json={"model": CLAUDE, "input": items})
    assert (answer.status_code, len(claude.asks)) == (400, 2)


def test_over_a_websocket(client: OpenAI, claude: AnthropicUpstream) -> None:
    with client.responses.connect() as connection:
        claude.say(BEGINS, [], ENDS)
        asking: Json = {"model": VERSIONS[0], "tools": [WEATHER], "include": IN_SEALS, "reasoning": {"effort": "low"}}
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


def test_tokens_are_counted_without_the_refused_thoughts(
    client: OpenAI, claude: AnthropicUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = history(client, claude, refused(SIGNATURE), [Status(200, {"input_tokens": 42})])
    monkeypatch.setattr(claude, "counts", False)
    monkeypatch.setattr(claude, "faults", lambda _: [])
    counted = httpx.post(f"{client.base_url}responses/input_tokens", json={"model": CLAUDE, "input": items})
    assert (counted.json()["input_tokens"], counted.headers["x-am-token-count"]) == (42, "upstream")
    assert "refused" in counted.headers["x-am-warnings"]


def test_over_litellm(client: OpenAI, claude: AnthropicUpstream) -> None:
    claude.say(BEGINS, [], ENDS)
    loop = Loop(client, "over litellm", [])
    outputs = loop.run(loop.ask(ROME))
    claude.said.clear()
    assert loop.ask(*outputs).output_text == "It is fine."
    claude.violations.clear()
    assert kinds(claude, 2)[1] == ["tool_use"]
