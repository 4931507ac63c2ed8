"""The scripted upstreams themselves: what they refuse, and how they misbehave when told to."""

import http.client
import json
from typing import Any

import pytest

from tests.wire.servers import (
    ChatUpstream,
    Cut,
    End,
    GeminiUpstream,
    Reset,
    ScriptedUpstream,
    Status,
)

Json = dict[str, Any]

HELLO: Json = {"role": "user", "content": "Hello"}
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS: Json = {"role": "assistant", "tool_calls": [CALL]}
OUTPUT: Json = {"role": "tool", "tool_call_id": "c1", "content": "1"}
TOOL: Json = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


def chat(*messages: Json, **settings: Any) -> Json:
    asked = {"model": "m", "messages": list(messages or (HELLO,)), "stream": True}
    return asked | {"stream_options": {"include_usage": True}} | settings


def post(upstream: ScriptedUpstream, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=5)
    try:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


LEGAL = [
    chat(),
    chat({"role": "system", "content": "x"}, HELLO, CALLS, OUTPUT, tools=[TOOL], tool_choice="required"),
    chat(HELLO, CALLS | {"content": "now", "reasoning_content": "hm"}, OUTPUT | {"content": ""}, HELLO),
    chat({"role": "user", "content": [{"type": "text", "text": "?"}, IMAGE]}),
    chat(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "f"}}, parallel_tool_calls=True),
    chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
    chat(HELLO, {"role": "assistant", "refusal": "no"}, HELLO),
]

ILLEGAL = [
    (b"{", "the body is not a JSON object"),
    ([], "the body is not a JSON object"),
    (chat() | {"messages": []}, "messages must be a list that is not empty"),
    (chat(api_base="x"), "unknown parameter api_base"),
    (chat(model=""), "model must be a string that is not empty"),
    (chat(stream=False), "stream must be true"),
    (chat(stream_options={}), "stream_options.include_usage must be true"),
    (chat(temperature=3), "temperature is out of range"),
    (chat(top_logprobs=2), "top_logprobs needs logprobs"),
    (chat(user=None), "user is null"),
    (chat(tools=[]), "tools must not be empty"),
    (chat(tool_choice="auto"), "tool_choice without tools"),
    (chat(parallel_tool_calls=True), "parallel_tool_calls without tools"),
    (chat(tools=[TOOL], tool_choice="maybe"), "tool_choice is not known: maybe"),
    (chat(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "g"}}), "tool_choice names no tool"),
    (chat(tools=[TOOL, TOOL]), "two tools have the same name"),
    (chat(tools=[{"type": "custom", "custom": {}}]), "tools[0] is not a function"),
    (chat(tools=[{"type": "function", "function": {"name": "a b"}}]), "tools[0].function.name is malformed: a b"),
    (chat(response_format={"type": "xml"}), "response_format is not known"),
    (chat({"role": "owner", "content": "x"}), "messages[0].role is not known: owner"),
    (chat({"role": "user", "content": ""}), "messages[0].content is empty"),
    (chat({"role": "user"}), "messages[0].content is missing"),
    (chat({"role": "user", "content": []}), "messages[0].content is neither text nor parts"),
    (chat({"role": "user", "content": [{"type": "text", "text": ""}]}), "messages[0].content[0] is empty or malformed"),
    (chat({"role": "assistant", "content": [IMAGE]}), "content[0].type image_url is not allowed for assistant"),
    (chat(HELLO, {"role": "assistant"}), "messages[1].content is missing"),
    (chat(HELLO | {"name": "x", "mood": "good"}), "messages[0] has unknown keys: ['mood']"),
    (chat(HELLO, CALLS), "the calls ['c1'] have no outputs"),
    (chat(HELLO, CALLS, HELLO, OUTPUT), "messages[2] stands before the outputs of ['c1']"),
    (chat(HELLO, OUTPUT), "messages[1].tool_call_id c1 does not answer the next open call of []"),
    (chat(HELLO, CALLS, OUTPUT, OUTPUT), "messages[3].tool_call_id c1 does not answer the next open call of []"),
    (chat(HELLO, {"role": "assistant", "tool_calls": []}), "messages[1].tool_calls must not be empty"),
    (chat(HELLO, {"role": "assistant", "tool_calls": [CALL, CALL]}), "tool_calls has two calls with one id"),
    (chat(HELLO, CALLS | {"tool_calls": [CALL | {"id": ""}]}), "tool_calls[0].id is empty"),
    (
        chat(HELLO, CALLS | {"tool_calls": [CALL | {"function": {"name": "f", "arguments": "[1]"}}]}, OUTPUT),
        "tool_calls[0].function.arguments is not a JSON object",
    ),
    (
        chat(HELLO, CALLS | {"tool_calls": [CALL | {"function": {"name": "a.b", "arguments": "{}"}}]}, OUTPUT),
        "tool_calls[0].function.name is malformed",
    ),
]


@pytest.mark.parametrize("body", LEGAL)
def test_a_chat_server_answers_a_legal_ask(body: Json) -> None:
    with ChatUpstream([{"choices": []}]) as upstream:
        status, answer = post(upstream, "/v1/chat/completions", body)
    assert (status, answer[-14:], upstream.violations) == (200, b"data: [DONE]\n\n", [])
    assert upstream.asks[0].body == body


@pytest.mark.parametrize(("body", "fault"), ILLEGAL, ids=range(len(ILLEGAL)))
def test_a_chat_server_refuses_an_illegal_ask_and_fails_the_test(body: Any, fault: str) -> None:
    upstream = ChatUpstream()
    upstream.__enter__()
    status, answer = post(upstream, "/v1/chat/completions", body)
    with pytest.raises(AssertionError) as failed:
        upstream.__exit__(None, None, None)
    assert status == 400
    assert fault in json.loads(answer)["error"]["message"]
    assert fault in str(failed.value)


def test_a_fault_is_added_to_the_error_that_it_caused() -> None:
    upstream = ChatUpstream()
    upstream.__enter__()
    post(upstream, "/v1/elsewhere", chat())
    error = KeyError()
    upstream.__exit__(KeyError, error, None)
    assert error.__notes__ == ["the upstream was asked what it must refuse: there is no /v1/elsewhere"]


def test_a_strict_chat_server_wants_system_messages_first_and_tools_for_calls() -> None:
    body = chat(HELLO, CALLS, OUTPUT, {"role": "system", "content": "x"})
    with ChatUpstream(leading_system_only=True, tools_with_calls=True) as upstream:
        post(upstream, "/v1/chat/completions", body)
        upstream.may_violate = True
    assert upstream.violations == [
        "a system message stands behind another message",
        "there are past calls but no tools",
    ]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}, None),
        ({"contents": []}, "contents must not be empty"),
        ({"contents": [{"role": "user", "parts": []}]}, "contents[0] has a wrong role or no parts"),
        ({"contents": [{"role": "user", "parts": [{"words": "x"}]}]}, "contents[0] has an unknown part"),
        ({"contents": [{"role": "model", "parts": [{"functionCall": {}}]}]}, "the last calls have no responses"),
        (
            {"contents": [{"role": "user", "parts": [{"functionResponse": {}}]}]},
            "contents[0] has 1 function responses for 0 calls",
        ),
        ({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "tools": []}, "tools must not be empty"),
        ({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "user": "u"}, "unknown parameter user"),
    ],
)
def test_a_gemini_server_refuses_what_gemini_refuses(body: Json, fault: str | None) -> None:
    with GeminiUpstream() as upstream:
        post(upstream, "/v1beta/models/m:streamGenerateContent?alt=sse", body)
        upstream.may_violate = True
    assert any(fault in entry for entry in upstream.violations) if fault else upstream.violations == []


def test_each_ask_gets_the_next_script_and_the_last_one_stays() -> None:
    with ChatUpstream([{"choices": [1]}], lambda ask: [Status(429, {"model": ask.body["model"]})]) as upstream:
        answers = [post(upstream, "/v1/chat/completions", chat()) for _ in range(3)]
    assert [status for status, _ in answers] == [200, 429, 429]
    assert answers[1][1] == b'{"model": "m"}'


def test_a_stream_can_end_without_its_last_word_or_in_the_middle_or_with_a_reset() -> None:
    with ChatUpstream([b"a", End(), b"b"], [b"a", Cut()], [Reset()]) as upstream:
        assert post(upstream, "/v1/chat/completions", chat()) == (200, b"a")
        with pytest.raises(http.client.IncompleteRead):
            post(upstream, "/v1/chat/completions", chat())
        with pytest.raises(ConnectionError):
            post(upstream, "/v1/chat/completions", chat())
