"""Which reasoning goes back to the model, and how a response says what did not."""

from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from tests.support.chat_answers import client_events, turn
from tests.support.chat_requests import ask, assistant, call, output, thought, user
from tests.support.relay_turns import on_functions
from tests.support.warning_sentences import sentences
from tests.wire.script import opens, says, stops

Json = dict[str, Any]

TWO_TURNS: Final = [
    user("1"), {**thought("old"), "id": "rs_old"}, assistant("2"), user("3"), thought("new"), call("a"), output("a"),
]  # fmt: skip
AGENT: Final = {"type": "agent_message", "author": "/root", "content": "Go on."}


def reasoning_sent(items: list[Json], **reasoning: Any) -> list[str]:
    asked = ask(input=items, reasoning=reasoning or None)
    assert asked.warnings == []
    return [message["reasoning_content"] for message in asked.body["messages"] if "reasoning_content" in message]


@pytest.mark.parametrize(
    ("context", "sent"),
    [(None, ["old", "new"]), ("auto", ["old", "new"]), ("all_turns", ["old", "new"]), ("current_turn", ["new"])],
)
def test_reasoning_of_earlier_turns_is_sent_unless_the_client_wants_none(context: str | None, sent: list[str]) -> None:
    assert reasoning_sent(TWO_TURNS, context=context) == sent


@pytest.mark.parametrize("before", [[], [AGENT]])
def test_a_turn_begins_with_the_last_message_from_outside(before: list[Json]) -> None:
    items = [*before, thought("a"), call("c"), output("c")]
    assert reasoning_sent(items, context="current_turn") == ["a"]
    assert reasoning_sent([*items, AGENT], context="current_turn") == []


def response_to(**fields: Any) -> Json:
    """The last response of an answered request."""
    last: Json = client_events(turn(**fields), opens(), says("ok"), stops())[-1]["response"]
    return last


@pytest.mark.parametrize(
    ("fields", "echo", "transformations"),
    [
        ({"reasoning": {"context": "current_turn"}}, "current_turn", [("rs_old", "turn_boundary")]),
        ({"reasoning": {"context": "auto"}}, "all_turns", None),
        ({"reasoning": {"effort": "low"}}, None, None),
        ({}, None, None),
    ],
)
def test_the_response_says_what_was_not_sent(fields: Json, echo: str | None, transformations: Any) -> None:
    response = response_to(input=TWO_TURNS, **fields)
    assert (response["reasoning"] or {}).get("context") == echo
    found = response.get("input_transformations")
    assert transformations == (None if found is None else [(each["id"], each["reason"]) for each in found])


def test_reasoning_that_nobody_here_can_read_is_named_in_the_response() -> None:
    sealed = {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "gAAA"}
    assert response_to(input=[user("Hi"), sealed])["input_transformations"] == [
        {"id": "rs_9", "type": "reasoning", "action": "removed", "reason": "model_mismatch"}
    ]
    assert "input_transformations" not in response_to(input="Hi")


def unnamed(text: str) -> Json:
    """Reasoning without an id."""
    return {key: value for key, value in thought(text).items() if key != "id"}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([user("a"), unnamed("b"), user("c")], [("input[1]", "turn_boundary")]),
        (
            [user("a"), thought("b"), unnamed("c"), user("d"), unnamed("e")],
            [("rs_1", "turn_boundary"), ("input[2]", "turn_boundary"), ("input[4]", "turn_boundary")],
        ),
        (
            [user("a"), unnamed("b"), {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}],
            [("input[1]", "turn_boundary"), ("input[2]", "model_mismatch")],
        ),
    ],
)
def test_reasoning_without_an_id_or_without_what_follows_is_named_by_its_place(
    items: list[Json], expected: Any
) -> None:
    """In the order of the input, each once, and with a warning for each."""
    removed = response_to(input=items)["input_transformations"]
    assert [(each["id"], each["reason"]) for each in removed] == expected
    assert len(ask(input=items).warnings) == len(expected)


SCHEMA: Final = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("updates", "text", "sent"),
    [
        ([{"text": {"format": SCHEMA}}], None, "json_schema"),
        ([{"text": {"format": SCHEMA}}, {"text": {"format": {"type": "text"}}}], None, None),
        ([{"text": {"format": SCHEMA}}, {"reasoning": {"effort": "low"}}, {"text": None}], None, "json_schema"),
        ([{"text": {"format": {"type": "text"}}}], {"format": {"type": "json_object"}}, None),
        ([{"text": {}}], {"format": {"type": "json_object"}}, "json_object"),
    ],
)
def test_the_last_update_of_the_format_holds(updates: list[Json], text: Json | None, sent: str | None) -> None:
    items = [{"type": "configuration_update", **update} for update in updates]
    asked = ask(input=[user("Hi"), *items], text=text)
    assert asked.body.get("response_format", {}).get("type") == sent
    assert asked.warnings == []


@pytest.mark.parametrize(
    ("update", "lost"),
    [
        ({"text": {"verbosity": "low"}}, "'text.verbosity' in"),
        ({"reasoning": {"effort": "low", "summary": "auto"}, "text": {"b": 1}}, "'reasoning.summary' and 'text.b' in"),
        ({"model": "m", "id": "cu_1"}, "'model' in"),
        ({"reasoning": {"effort": "low", "of_tomorrow": None}}, None),
    ],
)
def test_an_update_of_a_setting_that_cannot_change_is_warned_of(update: Json, lost: str | None) -> None:
    items = [user("Hi"), {"type": "configuration_update", **update}]
    expected = [] if lost is None else [f"{lost} input[1] has no effect: only the effort and the format can change."]
    assert ask(input=items).warnings == expected
    assert sentences(on_functions(input=items).warnings) == expected


UNMARKED: Final = "has no effect on this model: prompts for it are not marked for a cache."
MARKED: Final = {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"prompt_cache_options": {"mode": "explicit"}}, ["prompt_cache_options.mode"]),
        ({"prompt_cache_options": {"ttl": "12h"}}, ["prompt_cache_options.ttl"]),
        ({"prompt_cache_options": {"mode": "implicit"}}, []),
        ({"input": [user(MARKED, MARKED)]}, ["prompt_cache_breakpoint"]),
    ],
)
def test_what_a_model_without_marks_loses_of_its_cache_is_said_once(fields: Json, names: list[str]) -> None:
    assert ask(ChatOptions(), **fields).warnings == [f"'{name}' {UNMARKED}" for name in names]


def test_marks_where_none_can_be_are_named() -> None:
    asked = ask(input=[{"role": "developer", "content": [MARKED]}, user("Hi")])
    assert asked.warnings == [
        "'prompt_cache_breakpoint' in input[0] has no effect: only messages of the user and outputs are marked."
    ]
