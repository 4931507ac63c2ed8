"""The openai package, this server and a chat server behind it, through litellm and without, over real sockets."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.responses import ResponseFunctionToolCall

from tests.http.acceptance.proxied_upstream import SECRET, ProxiedUpstream
from tests.http.logged import line_of_turn
from tests.support.demo_behaviours import WEATHER
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response
from tests.wire.script import call_turn, calls, more, opens, says, stops, text_turn, thinks, turn
from tests.wire.servers import Cut, Status


@pytest.fixture
def client(proxied: ProxiedUpstream) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def streamed(proxied: ProxiedUpstream, **fields: Any) -> list[dict[str, Any]]:
    answer = httpx.post(f"{proxied.url}/v1/responses", json={"input": "hi", "stream": True, **fields}, timeout=20)
    return events_of(answer.content.replace(b"_AM-AM-", b"_AM-"))  # where one server of ours stands behind another


def test_text_and_its_count_come_through(proxied: ProxiedUpstream, client: OpenAI) -> None:
    proxied.set_scripts("org/text-1:free", text_turn("Hel", "lo"))
    response = client.responses.create(model="org/text-1:free", input="hi", temperature=0.5, max_output_tokens=99)
    assert response.usage is not None
    assert (response.output_text, response.usage.total_tokens) == ("Hello", 12)
    [ask] = proxied.asks("org/text-1:free")
    assert ask.body == {
        "model": "org/text-1:free",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "max_tokens": 99,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert ask.headers["authorization"] == f"Bearer {SECRET}"


def test_a_stream_comes_through_as_it_is_spoken(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("thinker", turn(thinks("hm"), thinks(" so"), says("Hel"), says("lo")))
    consumed = judged(streamed(proxied, model="thinker"))
    assert consumed.pieces == [("thought", "hm so"), ("text", "Hello")]


def test_a_tool_loop_closes_and_the_history_is_one_that_strict_servers_accept(
    proxied: ProxiedUpstream, client: OpenAI
) -> None:
    two = turn(
        thinks("Two of them."),
        says("Let me look."),
        calls(0, "get_weather", id="call_a"),
        calls(1, "get_weather", id="call_b"),
        more(0, '{"city": '),
        more(1, '{"city":"Rome"}'),
        more(0, '"Paris"}'),
        reason="tool_calls",
    )
    proxied.set_scripts("looper", two, text_turn("Both are fine."))
    tools: Any = [WEATHER]
    first = client.responses.create(model="looper", input="Paris and Rome?", tools=tools)
    made = [item for item in first.output if isinstance(item, ResponseFunctionToolCall)]
    assert [(call.call_id, call.arguments) for call in made] == [
        ("call_a", '{"city": "Paris"}'),
        ("call_b", '{"city":"Rome"}'),
    ]
    outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "fine"} for call in made]
    history: Any = [{"role": "user", "content": "Paris and Rome?"}, *first.output, *outputs[::-1]]
    second = client.responses.create(model="looper", input=history, tools=tools)
    assert second.output_text == "Both are fine."
    _, ask = proxied.asks("looper")
    assert ask.body["messages"] == [
        {"role": "user", "content": "Paris and Rome?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_content": "Two of them.",
            "tool_calls": [
                {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in made
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "fine"},
        {"role": "tool", "tool_call_id": "call_b", "content": "fine"},
    ]
    assert ask.body["tools"][0]["function"]["strict"] is True


def test_a_forced_tool_and_a_schema_reach_the_upstream_untouched(proxied: ProxiedUpstream, client: OpenAI) -> None:
    proxied.set_scripts("forced", call_turn("get_weather", '{"city":', '"Oslo"}'))
    shape = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tools: Any = [WEATHER]
    client.responses.create(
        model="forced",
        input="hi",
        tools=tools,
        tool_choice={"type": "function", "name": "get_weather"},
        text={"format": {"type": "json_schema", "name": "a", "schema": shape, "strict": True}},
    )
    [ask] = proxied.asks("forced")
    assert ask.body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert ask.body["tools"][0]["function"]["parameters"] == WEATHER["parameters"]
    assert ask.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "a", "schema": shape, "strict": True},
    }


def test_a_cut_upstream_is_a_failed_response_and_its_open_call_is_never_told_as_done(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("cut", [opens(), says("Let me"), calls(0, "f", id="call_1"), more(0, '{"a'), Cut()])
    consumed = judged(streamed(proxied, model="cut"))
    assert (consumed.response["status"], consumed.response["error"]["code"]) == ("failed", "server_error")
    assert (consumed.pieces, consumed.calls) == ([("text", "Let me")], [])


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "some_error", "param": None, "code": None, **more}}


LEAKY = f"Incorrect API key provided: {SECRET}. You can find yours at https://keys.example.com."
TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."

REFUSALS: dict[str, tuple[Status, int, str, str, str, str | None]] = {
    "401": (Status(401, error(LEAKY)), 502, "server_error", "upstream_auth_error", "", None),
    "403": (Status(403, error(LEAKY)), 502, "server_error", "upstream_auth_error", "", None),
    "429": (
        Status(429, error("Slow down."), {"retry-after": "7"}),
        429,
        "rate_limit_error",
        "rate_limit_exceeded",
        "",
        "7",
    ),
    "429 without a wait": (Status(429, error("Slow down.")), 429, "rate_limit_error", "rate_limit_exceeded", "", "5"),
    "quota": (
        Status(429, error("You exceeded your current quota.", code="insufficient_quota")),
        429,
        "rate_limit_error",
        "insufficient_quota",
        "",
        None,
    ),
    "context": (
        Status(400, error(TOO_LONG, code="context_length_exceeded")),
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "",
        None,
    ),
    "400": (Status(400, error("No such knob.")), 400, "invalid_request_error", "invalid_value", "", None),
    "404": (
        Status(404, error("The model does not exist.", code="model_not_found")),
        404,
        "invalid_request_error",
        "model_not_found",
        "model",
        None,
    ),
    "500": (Status(500, error(f"Boom {SECRET}")), 502, "server_error", "upstream_error", "", None),
    "503": (Status(503, error("Overloaded")), 502, "server_error", "upstream_error", "", None),
    "html": (
        Status(502, b"<html><body>Bad Gateway</body></html>", {"content-type": "text/html"}),
        502,
        "server_error",
        "upstream_error",
        "",
        None,
    ),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("content", "status", "kind", "code", "param", "wait"), REFUSALS.values(), ids=REFUSALS)
def test_what_the_upstream_refuses_is_an_http_error_in_our_words(
    proxied: ProxiedUpstream,
    content: Status,
    status: int,
    kind: str,
    code: str,
    param: str,
    wait: str | None,
    stream: bool,  # noqa: FBT001 — one of the two ways to ask
) -> None:
    proxied.set_scripts("refuser", [content])
    asked = {"model": "refuser", "input": "hi", "stream": stream}
    answer = httpx.post(f"{proxied.url}/v1/responses", json=asked, headers=FROM_ELSEWHERE)
    body = answer.json()
    assert body["error"].pop("message")
    assert (answer.status_code, body) == (status, {"error": {"type": kind, "code": code, "param": param}})
    assert answer.headers.get("retry-after") == wait
    check_nothing_leaks(answer, proxied)


FROM_ELSEWHERE = {"x-forwarded-for": "192.0.2.1"}
"""From another machine, through a proxy on this one."""


def check_nothing_leaks(answer: httpx.Response, proxied: ProxiedUpstream) -> None:
    """The log may name the upstream's address, which only this machine's own user is told besides."""
    line_of_turn(proxied.program, answer.headers["x-request-id"])
    told = f"{answer.headers} {answer.text}"
    assert "127.0.0.1" not in told
    for secret in (SECRET, "upstreams-own", "keys.example.com", "Traceback"):
        assert secret not in f"{told} {proxied.program.log}"


def test_nobody_at_the_upstreams_address_is_an_upstream_error(proxied: ProxiedUpstream) -> None:
    answer = httpx.post(
        f"{proxied.url}/v1/responses", json={"model": "closed", "input": "hi"}, headers=FROM_ELSEWHERE, timeout=20
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    check_nothing_leaks(answer, proxied)


def test_a_refusal_is_not_tried_again_behind_the_clients_back(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("once", [Status(500, error("Boom"))])
    httpx.post(f"{proxied.url}/v1/responses", json={"model": "once", "input": "hi"})
    assert len(proxied.asks("once")) == 1


def test_a_key_of_the_environment_goes_nowhere(proxied: ProxiedUpstream) -> None:
    """An upstream without a key gets none, whatever lies in the environment for other servers."""
    proxied.set_scripts("keyless", text_turn("Hi"))
    answer = httpx.post(f"{proxied.url}/v1/responses", json={"model": "keyless", "input": "hi"})
    judge_response(answer.json())
    [ask] = proxied.asks("keyless")
    assert "sk-of-the-environment" not in json.dumps(ask.headers)
    assert b"sk-of-the-environment" not in ask.raw


def test_a_client_cannot_send_the_servers_key_elsewhere(proxied: ProxiedUpstream) -> None:
    for key in ("api_base", "base_url", "api_key", "extra_headers", "fallbacks", "litellm_params", "aws_region_name"):
        answer = httpx.post(f"{proxied.url}/v1/responses", json={"model": "steered", "input": "hi", key: "http://evil"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown_parameter")
    assert proxied.asks("steered") == []


def test_a_finish_that_was_said_is_kept_even_when_the_count_is_missing(
    proxied: ProxiedUpstream, client: OpenAI
) -> None:
    """An upstream that counts nothing is counted for: clients fold their history by these numbers."""
    proxied.set_scripts("uncounted", [opens(), says("Hello"), stops()])
    response = client.responses.create(model="uncounted", input="hi")
    assert response.usage is not None
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
