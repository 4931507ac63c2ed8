"""What models say through litellm, read from real streams of four wire formats."""

from typing import Any

import pytest

from app.upstreams.litellm_chat import LitellmChat
from tests.support.litellm_streams import Json, read_answer, usage
from tests.support.upstream_asks import KEY, TOOLS, Lenient, answer_of, answers, asks, server
from tests.wire.script import calls, chunk, counts, delta, more, refuses, says, stops, text_turn, thinks, turn
from tests.wire.servers import Cut, End, Pause, Status, Step
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

CHAT_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


# moonshot is asked through the OpenAI SDK, groq through a parser of its own
@pytest.mark.parametrize("provider", [None, "hosted_vllm", "openai", "moonshot", "groq"])
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(text_turn("Hel", "lo"), {"text": "Hello", "finish": "stop", "usage": CHAT_USAGE}, id="text"),
        pytest.param(
            turn(thinks("hm"), says("Hi")),
            {"reasoning": "hm", "text": "Hi", "finish": "stop", "usage": CHAT_USAGE},
            id="reasoning",
        ),
        pytest.param(
            turn(thinks("hm", field="reasoning"), says("Hi")),
            {"reasoning": "hm", "text": "Hi", "finish": "stop", "usage": CHAT_USAGE},
            id="reasoning under its other name",
        ),
        pytest.param(
            turn(
                calls(0, "weather", id="c1", arguments='{"ci'),
                calls(1, "weather", id="c2"),
                more(0, 'ty":1}'),
                more(1, "{}"),
                reason="tool_calls",
            ),
            {
                "calls": [[0, "c1", "weather", '{"city":1}'], [1, "c2", "weather", "{}"]],
                "finish": "tool_calls",
                "usage": CHAT_USAGE,
            },
            id="interleaved calls",
        ),
        pytest.param(
            turn(refuses("I can"), refuses("not")),
            {"refusal": "I cannot", "finish": "stop", "usage": CHAT_USAGE},
            id="a refusal, which litellm's own stream leaves out",
        ),
        pytest.param(
            turn(says("Hi"), reason="length"), {"text": "Hi", "finish": "length", "usage": CHAT_USAGE}, id="length"
        ),
        pytest.param(
            turn(reason="content_filter"), {"finish": "content_filter", "usage": CHAT_USAGE}, id="content filter"
        ),
        pytest.param([says("Hi")], {"text": "Hi"}, id="without a finish: it must not look finished"),
        pytest.param([says("Hi"), End()], {"text": "Hi"}, id="without a finish and without [DONE]"),
        pytest.param([says("Hi"), stops(), End()], {"text": "Hi", "finish": "stop"}, id="without [DONE]"),
        pytest.param([], {}, id="[DONE] alone"),
        pytest.param(
            [says("data: [DONE]\n\n"), says("\u2028\x85\x0b"), stops()],
            {"text": "data: [DONE]\n\n\u2028\x85\x0b", "finish": "stop"},
            id="text that litellm would take for the stream's end",
        ),
        pytest.param(
            ['data: {"choices":[{"index":0,"delta":{"content":"a\u2028b\u0085c"}}]}\r\n\r\n'.encode(), stops()],
            {"text": "a\u2028b\x85c", "finish": "stop"},
            id="line separators that the server did not escape",
        ),
        pytest.param(
            [b'data:{"choices":[{"index":0,"delta":{"con', Pause(0.01), b'tent":"Hi"}}]}\n\n: ping\n\n', stops()],
            {"text": "Hi", "finish": "stop"},
            id="a line in two pieces, and a comment",
        ),
        pytest.param(
            [b'data: {"choices":[{"index":0,"delta":{"content":"\xc3', Pause(0.01), b'\xa9"}}]}\n\n'],
            {"text": "é"},
            id="a character in two pieces",
        ),
    ],
)  # fmt: skip
async def test_a_chat_server_is_read_as_it_was_sent(provider: str | None, script: list[Step], expected: Json) -> None:
    received = await read_answer(provider, script, tools=TOOLS)
    assert received == expected


async def test_a_plain_chat_server_is_passed_on_chunk_by_chunk() -> None:
    """Whatever it says beyond what we know today is there for the dialect to read."""
    script = [delta(content="Hi", mood="good", logprobs={"content": [{"token": "Hi", "logprob": -0.1}]}), stops()]
    with server(None, script) as upstream:
        chunks, problem = await answers(LitellmChat(base_url=upstream.url), asks())
    assert (chunks, problem) == (script, None)


@pytest.mark.parametrize("provider", [None, "openai"])
async def test_a_whole_answer_is_read_as_the_one_chunk_it_amounts_to(provider: str | None) -> None:
    """Some servers do not stream although they are asked to."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": CHAT_USAGE}
    assert await read_answer(provider, [Status(200, body)]) == {
        "text": "Hi",
        "calls": [[0, "c1", "weather", "{}"]],
        "finish": "tool_calls",
        "usage": CHAT_USAGE,
    }


READ = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            [*claude.begins(**READ), *claude.text(0, "Hel", "lo"), *claude.ends(output_tokens=9)],
            {"text": "Hello", "finish": "stop", "usage": usage(15, 9, cached=7, written=3)},
            id="text, and usage that comes in two halves",
        ),
        pytest.param(
            [
                *claude.begins(),
                *claude.text(0, "Now"),
                *claude.tool_use(1, "weather", "toolu_1", '{"city"', ':"Rome"}'),
                *claude.tool_use(2, "weather", "toolu_2"),
                *claude.ends("tool_use"),
            ],
            {
                "text": "Now",
                "calls": [[0, "toolu_1", "weather", '{"city":"Rome"}'], [1, "toolu_2", "weather", ""]],
                "finish": "tool_calls",
                "usage": usage(1, 1),
            },
            id="parallel calls, one without arguments",
        ),
        pytest.param(
            [*claude.begins(), *claude.text(0, "Hi"), *claude.ends("max_tokens")],
            {"text": "Hi", "finish": "length", "usage": usage(1, 1)},
            id="length",
        ),
        pytest.param(
            [*claude.begins(), *claude.ends("refusal")],
            {"finish": "content_filter", "usage": usage(1, 1)},
            id="a refusal is told as a filtered answer",
        ),
        pytest.param(
            [*claude.begins(), *claude.text(0, "a [DONE] b\u2028c"), *claude.ends()],
            {"text": "a [DONE] b\u2028c", "finish": "stop", "usage": usage(1, 1)},
            id="text that looks like the end",
        ),
        pytest.param(
            [*claude.begins(), *claude.text(0, "Hi")], {"text": "Hi", "usage": usage(1, 1)}, id="without a finish"
        ),
    ],
)
async def test_claude_is_read_as_it_was_sent(script: list[Step], expected: Json) -> None:
    assert await read_answer("anthropic", script, tools=TOOLS) == expected


async def test_claudes_thoughts_come_with_their_signature() -> None:
    """It is what gives the thoughts back to Claude on the next turn."""
    script = [*claude.begins(), *claude.thinking(0, "hm", "!"), *claude.text(1, "Hi"), *claude.ends(output_tokens=3)]
    with server("anthropic", script) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        chunks, problem = await answers(chat, asks("anthropic", reasoning_effort="low"))
    assert problem is None
    assert {key: value for key, value in answer_of(chunks).items() if key != "usage"} == {
        "reasoning": "hm!",
        "text": "Hi",
        "finish": "stop",
    }
    deltas = [choice["delta"] for entry in chunks for choice in entry["choices"]]
    blocks = [block for entry in deltas for block in entry.get("thinking_blocks", [])]
    assert (blocks[-1]["type"], blocks[-1]["signature"]) == ("thinking", "c2ln")


@pytest.mark.parametrize(
    ("details", "counted"), [({}, 0), ({"output_tokens_details": {"thinking_tokens": 2}}, 2)], ids=["not", "2"]
)
async def test_claudes_thoughts_are_counted_by_claude_or_not_at_all(details: Any, counted: int) -> None:
    """Left alone, litellm would guess."""
    script = [*claude.begins(), *claude.thinking(0, "hm and so on"), *claude.ends(output_tokens=9, **details)]
    received = await read_answer("anthropic", [*script], reasoning_effort="low")
    assert received["usage"] == usage(1, 9, reasoning=counted)


@pytest.mark.parametrize(
    ("provider", "script"),
    [
        (None, [says("Hi"), Cut()]),
        ("moonshot", [says("Hi"), Cut()]),
        ("anthropic", [*claude.begins(), *claude.text(0, "Hi"), Cut()]),
        ("gemini", [candidate({"text": "Hi"}), Cut()]),
    ],
)
async def test_a_connection_that_breaks_is_reported(provider: str | None, script: list[Step]) -> None:
    with server(provider, script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url)
        chunks, problem = await answers(chat, asks(provider))
    assert answer_of(chunks)["text"] == "Hi"
    assert problem is not None
    assert (problem.code, problem.message) == ("upstream_error", "The connection to the upstream broke off.")


async def test_usage_without_details_is_reported_as_it_came() -> None:
    assert (await read_answer(None, [says("Hi"), stops(), counts(3, 4, cached=2, reasoning=1)]))["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }


async def test_what_claude_counts_by_time_and_beside_tokens_is_kept() -> None:
    used = {
        "input_tokens": 9,
        "output_tokens": 1,
        "cache_creation_input_tokens": 7,
        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
    }
    start, *others = claude.begins()
    stream: list[Step] = [
        {**start, "message": {**start["message"], "usage": used}},
        *others,
        *claude.text(0, "Hi"),
        *claude.ends(),
    ]
    told = (await read_answer("anthropic", stream))["usage"]
    assert told["prompt_tokens_details"]["cache_creation_token_details"] == used["cache_creation"]


async def test_a_chunk_without_choices_is_no_trouble() -> None:
    assert await read_answer("groq", [chunk(), says("Hi"), stops()]) == {"text": "Hi", "finish": "stop"}


@pytest.mark.parametrize(
    "provider", ["groq", "xai", "fireworks_ai", "edenai", "cometapi", "ovhcloud", "openrouter", "snowflake"]
)
async def test_dialects_of_chat_are_read_without_loss(provider: str) -> None:
    """Two calls in one chunk, thoughts under either name, text that looks like the end, and an end without a reason."""
    script = [
        thinks("hm", field="reasoning"),
        says("a [DONE] b\u2028c"),
        delta(tool_calls=[FIRST_CALL, {**FIRST_CALL, "index": 1, "id": "c2"}]),
        counts(7, 5),
    ]
    with Lenient(script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url, timeout=5)
        chunks, problem = await answers(chat, asks(provider))
    assert problem is None
    assert answer_of(chunks) == {
        "reasoning": "hm",
        "text": "a [DONE] b\u2028c",
        "calls": [[0, "c1", "weather", "{}"], [1, "c2", "weather", "{}"]],
        "finish": "unstated",
        "usage": CHAT_USAGE,
    }


FIRST_CALL: Json = {"index": 0, "id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
