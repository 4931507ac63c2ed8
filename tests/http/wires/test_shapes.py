"""Shapes of answers that real providers have sent, scripted, through every lane that meets them."""

from typing import Any, Final

import httpx
import pytest

from tests.http.wires.answers import CHATS, COUNTED, Json, answered, counted, essentials, usage_of
from tests.http.wires.lanes import Wired
from tests.support.demo_behaviours import WEATHER
from tests.wire.script import Chunk, calls, chunk, delta, more, says, stops
from tests.wire.servers import End, Says, Status, Step

MISTRALS: Final = pytest.mark.parametrize("lane", ["mistral", "mistral, directly"])


def stops_with(usage: Json) -> Chunk:
    """The last chunk of Mistral, which counts in it."""
    return chunk({"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}, usage=usage)


COUNTS: Final[dict[str, tuple[Json, tuple[int, int, int, int, bool]]]] = {
    "cached, under the older name": (
        {"prompt_tokens": 70, "completion_tokens": 4, "total_tokens": 74, "num_cached_tokens": 64},
        (70, 64, 4, 0, False),
    ),
    "sound of the prompt, in the total": (
        {
            "prompt_tokens": 11,
            "completion_tokens": 15,
            "total_tokens": 401,
            "prompt_audio_seconds": 30,
            "prompt_tokens_details": {"audio_tokens": 375},
        },
        (386, 0, 15, 0, False),
    ),
    "zeros": ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (9, 0, 1, 0, True)),
}


@MISTRALS
@pytest.mark.parametrize(("usage", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts_are_told_as_they_were_meant(
    everything: Wired, lane: str, usage: Json, expected: tuple[int, int, int, int, bool]
) -> None:
    assert counted(answered(everything, lane, [says("Hi"), stops_with(usage)])) == expected


DETAILS: Final[dict[str, list[Chunk]]] = {
    "OpenRouter's summary": [
        delta(content="", reasoning=None, reasoning_details=[{"type": "reasoning.summary", "summary": "15 * 27 "}]),
        delta(content="", reasoning=None, reasoning_details=[{"type": "reasoning.summary", "summary": "= 405"}]),
        delta(content="", reasoning_details=[{"type": "reasoning.encrypted", "data": "c2ln", "id": "rs_1"}]),
    ],
    "Snowflake's text": [delta(content="", reasoning_details=[{"type": "reasoning.text", "text": "15 * 27 = 405"}])],
}


@pytest.mark.parametrize("lane", ["openrouter", "openrouter, directly", "vllm, directly"])
@pytest.mark.parametrize("details", DETAILS.values(), ids=DETAILS)
def test_thoughts_in_details_alone_are_told(everything: Wired, lane: str, details: list[Chunk]) -> None:
    response = answered(everything, lane, [*details, says("405"), stops()])
    assert essentials(response) == {"status": "completed", "output": [{"thought": "15 * 27 = 405"}, {"text": "405"}]}


IN_A_CHOICE: Final = chunk({"index": 0, "delta": {"role": "assistant", "content": ""}}, usage=usage_of(43, 10))
CALL: Final = [calls(0, "get_weather", id="c1"), more(0, '{"city": '), more(0, '"Rome"}')]
FAILED: Final = "server_error"
EMPTY_TEXT: Final = {"type": "text", "text": ""}
SIGNATURE: Final = [{"type": "reasoning.encrypted", "data": "c2ln", "id": "rs_1", "format": "x-v1", "index": 0}]

ENDINGS: Final[dict[str, tuple[list[Step], Json]]] = {
    "text, counts and [DONE]": ([says("Hi"), COUNTED], {"status": "completed", "output": [{"text": "Hi"}]}),
    "a call, counts in a choice and [DONE]": (
        [*CALL, IN_A_CHOICE],
        {"status": "completed", "output": [{"call": "get_weather", "arguments": '{"city": "Rome"}'}]},
    ),
    "counts, a chunk that says nothing and [DONE]": (
        [says("Hi"), COUNTED, chunk()],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "counts, empty words and [DONE]": (
        [says("Hi"), COUNTED, delta(role="assistant", content="", tool_calls=[])],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "counts, zeros and [DONE]": (
        [says("Hi"), COUNTED, chunk(usage=usage_of(0, 0))],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "counts beside Snowflake's empty call and [DONE]": (
        [says("Hi"), delta(content="", function_call={"name": "", "arguments": ""}) | {"usage": usage_of(43, 10)}],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "counts, an empty part and [DONE]": (
        [says("Hi"), COUNTED, delta(content=[EMPTY_TEXT])],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "counts beside a signature and [DONE]": (
        [says("Hi"), delta(content="", reasoning_details=SIGNATURE) | {"usage": usage_of(43, 10)}],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "a call, an empty part, counts and [DONE]": (
        [*CALL, delta(content=[EMPTY_TEXT, {"type": "thinking", "thinking": [EMPTY_TEXT]}]), COUNTED],
        {"status": "completed", "output": [{"call": "get_weather", "arguments": '{"city": "Rome"}'}]},
    ),
    "a part after the counts": (
        [says("Hi"), COUNTED, delta(content=[EMPTY_TEXT, {"type": "text", "text": " you"}])],
        {"status": "failed", "output": [{"text": "Hi you"}], "error": FAILED},
    ),
    "half a call, counts and [DONE]": ([*CALL[:2], COUNTED], {"status": "failed", "output": [], "error": FAILED}),
    "[DONE] alone": ([says("Hi")], {"status": "failed", "output": [{"text": "Hi"}], "error": FAILED}),
    "counts and no [DONE]": (
        [says("Hi"), COUNTED, End()],
        {"status": "failed", "output": [{"text": "Hi"}], "error": FAILED},
    ),
    "zeros and [DONE]": (
        [says("Hi"), chunk(usage=usage_of(0, 0))],
        {"status": "failed", "output": [{"text": "Hi"}], "error": FAILED},
    ),
    "counts beside every word and [DONE]": (
        [says("Hi") | {"usage": usage_of(43, 1)}],
        {"status": "failed", "output": [{"text": "Hi"}], "error": FAILED},
    ),
    "text after the counts": (
        [says("Hi"), COUNTED, says(" you")],
        {"status": "failed", "output": [{"text": "Hi you"}], "error": FAILED},
    ),
}


@CHATS
@pytest.mark.parametrize(("steps", "expected"), ENDINGS.values(), ids=ENDINGS)
def test_an_orderly_end_needs_no_finish_reason(everything: Wired, lane: str, steps: list[Step], expected: Json) -> None:
    """Snowflake's Claude never gives one, Novita behind OpenRouter none behind a call. A cut is still a cut."""
    response = answered(everything, lane, steps, tools=[WEATHER])
    assert essentials(response) == expected
    if expected["status"] == "completed":
        assert counted(response) == (43, 0, 10, 0, False)


WHOLE: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "m",
    "usage": usage_of(43, 10),
}
WHOLES: Final[dict[str, tuple[Json, Json]]] = {
    "text": (
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"},
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "no reason, as Nebius behind OpenRouter": (
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": None},
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "an empty function_call, as Snowflake": (
        {"index": 0, "message": {"content": "Hi", "function_call": {"name": "", "arguments": ""}}},
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "a call and a null error": (
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
                ],
            },
            "finish_reason": "tool_calls",
        },
        {"status": "completed", "output": [{"call": "get_weather", "arguments": "{}"}]},
    ),
    "cut at the limit": (
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "length"},
        {"status": "incomplete", "output": [{"text": "Hi"}]},
    ),
}


@CHATS
@pytest.mark.parametrize(("choice", "expected"), WHOLES.values(), ids=WHOLES)
def test_a_whole_answer_where_a_stream_was_asked_for_is_read(
    everything: Wired, lane: str, choice: Json, expected: Json
) -> None:
    response = answered(everything, lane, [Status(200, {**WHOLE, "choices": [choice], "error": None})], tools=[WEATHER])
    assert essentials(response) == expected
    assert counted(response) == (43, 0, 10, 0, False)


EMPTY: Final = pytest.mark.parametrize("blank", ["", " ", [{"role": "user", "content": ""}]], ids=repr)
TAKES_EMPTY: Final = ("gemini", "ollama", "openai, directly", "openrouter, directly")


@EMPTY
@pytest.mark.parametrize("lane", TAKES_EMPTY)
def test_an_empty_prompt_is_asked_as_it_is(everything: Wired, lane: str, blank: Any) -> None:
    """OpenAI and Gemini answer it; a server that does not says so itself."""
    wire = everything.wires[lane]
    wire.say([Says("Hello.")])
    wire.may_violate = True  # these servers are stricter than the real ones
    try:
        response = httpx.post(f"{everything.url}/v1/responses", json={"model": lane, "input": blank}, timeout=50)
        [ask] = wire.asks
        refused = list(wire.violations)
    finally:
        wire.violations.clear()
        wire.may_violate = False
    [message] = ask.body.get("messages") or ask.body["contents"]
    assert message["role"] == "user"
    assert message.get("content", message.get("parts")) in (blank, "", [{"text": blank}], [{"text": ""}])
    assert (response.status_code, refused) in (
        (200, []),
        (400, ["messages[0].content is empty"]),
    )


@EMPTY
def test_an_empty_prompt_is_no_other_to_claude(everything: Wired, blank: Any) -> None:
    """It refuses one, and litellm would tell it something else instead."""
    wire = everything.wires["anthropic"]
    wire.say([Says("Hello.")])
    answer = httpx.post(f"{everything.url}/v1/responses", json={"model": "anthropic", "input": blank}, timeout=50)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["message"]) == (
        400,
        "input",
        "This model does not accept empty input.",
    )
    assert wire.asks == []
