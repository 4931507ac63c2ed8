"""The embedded model: what each word in the prompt makes it do."""

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from app.protocol.problems import Problem
from app.upstreams.demo import READ, STORIES, STORY, Demo
from app.upstreams.demo_json import sample
from app.upstreams.port import UpstreamRefused

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CLOCK = {"type": "function", "function": {"name": "clock"}}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def answer(*messages: dict[str, Any], **ask: Any) -> tuple[str, str, list[str], str | None]:
    """What was said, thought and called, and why it ended."""
    content, thought, reason = "", "", None
    called: list[str] = []
    async for chunk in Demo().open({"messages": list(messages), **ask}):
        if "error" in chunk:
            return content, thought, called, "error"
        for choice in chunk["choices"]:
            delta = choice["delta"]
            content += delta.get("content") or delta.get("refusal") or ""
            thought += delta.get("reasoning_content", "")
            called += [
                call["function"].get("name") or call["function"]["arguments"] for call in delta.get("tool_calls", [])
            ]
            reason = choice["finish_reason"] or reason
    return content, thought, called, reason


async def test_by_default_it_explains_itself_and_echoes() -> None:
    reply, thought, called, reason = await answer(user("Hello there"))
    assert reply.startswith("I am demo")
    assert reply.endswith("You said: Hello there")
    assert (thought, called, reason) == ("", [], "stop")


async def test_it_writes_a_summary_when_asked_to_and_follows_no_other_word() -> None:
    wanted = user("Think of what was said, and write that summary now.")
    reply, thought, called, reason = await answer(user("Hello"), user("Fail"), wanted)
    assert (reply, thought, called, reason) == ("1. The user said: Hello / Fail", "", [], "stop")


async def test_a_question_about_oneself_is_answered_with_what_was_said_before() -> None:
    earlier = user("Notes: The user said: My name is Alice.")
    assert (await answer(earlier, user("What is my name?")))[0] == "You told me: My name is Alice."
    assert (await answer(user("What is my name?")))[0].endswith("You said: What is my name?")


async def test_parts_that_are_no_text_are_named() -> None:
    reply, *_ = await answer(user([{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}]))
    assert reply.endswith("You said: See [image_url]")


@pytest.mark.parametrize("prompt", ["Think hard", "Show your reasoning"])
async def test_it_thinks_when_asked_to(prompt: str) -> None:
    _, thought, _, _ = await answer(user(prompt))
    assert thought.startswith("The user wants")


async def test_it_thinks_when_an_effort_is_set() -> None:
    assert (await answer(user("Hi"), reasoning_effort="low"))[1]
    assert not (await answer(user("Hi"), reasoning_effort="none"))[1]


@pytest.mark.parametrize(
    ("prompt", "reason"), [("an incomplete one", "length"), ("one that failed", "error"), ("cut it", None)]
)
async def test_it_ends_badly_when_asked_to(prompt: str, reason: str | None) -> None:
    reply, _, _, ended = await answer(user(prompt))
    assert reply
    assert ended == reason


@pytest.mark.parametrize("limit", [1, 5])
async def test_a_limit_cuts_its_answer_after_so_many_words(limit: int) -> None:
    whole, *_ = await answer(user("Hi"))
    reply, _, _, ended = await answer(user("Hi"), max_tokens=limit)
    assert (reply.split(), ended) == (whole.split()[:limit], "length")


async def test_an_answer_that_is_as_long_as_its_limit_is_not_cut() -> None:
    words = (await answer(user("Refuse this")))[0].split()
    reply, _, _, ended = await answer(user("Refuse this"), max_tokens=len(words))
    assert (reply.split(), ended) == (words, "stop")


async def test_it_refuses_when_asked_to() -> None:
    assert (await answer(user("Refuse this")))[0] == "I was asked to refuse, so I do."


async def test_it_is_busy_when_asked_to() -> None:
    with pytest.raises(UpstreamRefused) as caught:
        await answer(user("be busy"))
    assert caught.value.problem == Problem(
        code="rate_limit_exceeded", message="The demo was asked to be busy.", retry_after=1
    )


async def test_a_long_story_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.upstreams.demo.PACE", 0)
    reply, *_ = await answer(user("a long one"))
    assert reply == STORY * STORIES


CALLS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("call get_weather", {"tools": [CLOCK, WEATHER]}, ["get_weather", '{"city":', '"demo"}']),
    ("how is the weather?", {"tools": [CLOCK, WEATHER]}, ["get_weather", '{"city":', '"demo"}']),
    ("hello", {"tools": [CLOCK], "tool_choice": "required"}, ["clock", "{}"]),
    ("hello", {"tools": [CLOCK], "tool_choice": {"function": {"name": "clock"}}}, ["clock", "{}"]),
    ("clock", {"tools": [CLOCK], "tool_choice": "none"}, []),
    ("clock", {}, []),
]


@pytest.mark.parametrize(("prompt", "ask", "called"), CALLS)
async def test_it_calls_the_tool_the_prompt_asks_for(prompt: str, ask: dict[str, Any], called: list[str]) -> None:
    assert (await answer(user(prompt), **ask))[2] == called


async def test_it_answers_from_what_the_tools_said() -> None:
    reply, _, called, _ = await answer(
        user("clock"),
        {"role": "assistant", "tool_calls": []},
        {"role": "tool", "content": "noon"},
        {"role": "tool", "content": "sunny"},
        tools=[CLOCK],
    )
    assert (reply, called) == ("The tool said: noon / sunny", [])


async def test_a_schema_is_answered_with_a_value_that_fits_it() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}
    assert (await answer(user("Hi"), response_format=form))[0] == '{"name":"demo","age":1}'
    assert (await answer(user("Hi"), response_format={"type": "json_object"}))[0] == '{"echo":"Hi"}'


SAMPLES: list[tuple[Any, Any]] = [
    ({"type": "string", "minLength": 6}, "demo.."),
    ({"type": ["integer", "null"], "minimum": 3}, 3),
    ({"type": "boolean"}, True),
    ({"type": "null"}, None),
    ({"type": "array", "items": {"type": "number"}, "minItems": 2}, [1, 1]),
    ({"enum": ["a", "b"]}, "a"),
    ({"const": 7}, 7),
    ({"default": 8}, 8),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "demo"),
    ({"$defs": {"x": {"type": "boolean"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}, {"a": True}),
    ({"$ref": "#/nowhere/at/all"}, None),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "required": []}, {}),
    ("no schema", None),
]


LONG: Final = 32 * 1024 * 1024
SOON: Final = 1.0
"""Seconds of processor time before the first word, on a machine that is shared; squared work takes hours."""


@pytest.mark.parametrize(
    "messages",
    [
        lambda: [user("My name is Alice. " * (LONG // 18)), user("What is my name?")],
        lambda: [user("My name is Alice."), user("A b, " * (LONG // 5)), user("What is my name?")],
        lambda: [user("a") for _ in range(LONG // 64)],
        lambda: [user("Aa " * (LONG // 3))],
        lambda: [user("x" * LONG), user("Write that summary now.")],
        lambda: [user("clock"), {"role": "tool", "content": "'a" * (LONG // 2)}],
    ],
    ids=["one message", "behind another", "many messages", "the last message", "a summary", "the output of a tool"],
)
async def test_a_long_history_is_answered_soon_and_in_few_words(messages: Callable[[], list[dict[str, Any]]]) -> None:
    demo = Demo().open({"messages": messages(), "tools": [WEATHER] * 128})
    began = time.process_time()
    first = await anext(demo)
    assert time.process_time() - began < SOON
    assert first["choices"]
    chunks = [chunk async for chunk in demo]
    assert sum(len(chunk["choices"][0]["delta"].get("content", "")) for chunk in chunks if chunk["choices"]) <= 2 * READ


@pytest.mark.parametrize(("schema", "value"), SAMPLES)
def test_a_sample_fits_its_schema(schema: Any, value: Any) -> None:
    assert sample(schema) == value


def test_a_schema_that_refers_to_itself_has_a_sample_too() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert sample(node)["next"]["next"]
