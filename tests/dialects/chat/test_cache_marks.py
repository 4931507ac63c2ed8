"""What upstreams are told of caches: marks for those that need them, hints for those that take them."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.decode import ONLY_AUDIO
from app.options import Hint, ModelOptions
from app.protocol.problems import ProblemError
from tests.support.chat_answers import client_events, turn
from tests.support.chat_requests import ask, assistant, call, output, user
from tests.support.warning_sentences import sentences
from tests.wire.script import counts, delta, says, stops

MARKING = ChatOptions(model=ModelOptions(cache_control="auto"))
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def test_the_head_and_the_last_two_ends_of_the_conversation_are_marked() -> None:
    """The last but one is where the ask before this one ended, and what it left in the cache."""
    items = [user("a"), assistant("b"), user("c"), call("c1"), output("c1", "d")]
    asked = ask(MARKING, instructions="Be brief.", input=items)
    assert asked.body["messages"] == [
        {"role": "system", "content": [text("Be brief.", **MARK)]},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": [text("c", **MARK)]},
        ask(input=items).body["messages"][3],
        {"role": "tool", "tool_call_id": "c1", "content": [text("d", **MARK)]},
    ]


def test_the_last_part_of_several_is_marked() -> None:
    image = {"type": "input_image", "image_url": "https://a.example/b.png"}
    asked = ask(MARKING, input=[user({"type": "input_text", "text": "a"}, image)])
    shown = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}, **MARK}
    assert asked.body["messages"] == [{"role": "user", "content": [text("a"), shown]}]


HINTS: dict[Hint, Any] = {
    "metadata": {"a": "b"},
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "flex",
    "user": "u",
}


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_goes_to_those_who_take_it(name: Hint) -> None:
    asked = ask(ChatOptions(hints=frozenset({name})), **{name: HINTS[name]})
    assert (asked.body[name], asked.warnings) == (HINTS[name], [])


def test_of_the_hints_that_are_left_out_only_the_tier_is_a_warning() -> None:
    asked = ask(**{str(name): value for name, value in HINTS.items()})
    assert asked.body.keys().isdisjoint(HINTS)
    assert asked.warnings == ["'service_tier' has no effect on this model."]


def test_what_a_model_says_aloud_is_told_as_text() -> None:
    """The words that come beside the sound."""
    chunks = [
        delta(audio={"id": "a1", "transcript": "Hel"}),
        delta(audio={"transcript": "lo", "data": "AAAA"}),
        stops(),
    ]
    (message,) = client_events(turn(), *chunks)[-1]["response"]["output"]
    assert message["content"][0]["text"] == "Hello"


SOUND = delta(audio={"id": "a1", "data": "AAAA"})


def test_sound_beside_its_words_is_not_missed() -> None:
    chat_turn = turn()
    client_events(chat_turn, SOUND, delta(audio={"transcript": "Hello"}), SOUND, stops())
    assert (sentences(chat_turn.late_warnings), chat_turn.notes) == ([], {"usage": "estimated"})


def test_sound_that_comes_beside_an_answer_is_left_out_with_a_warning() -> None:
    chat_turn = turn()
    client_events(chat_turn, says("Listen:"), SOUND, stops(), counts(1, 1))
    assert sentences(chat_turn.late_warnings) == ["Sound that the model made was left out: no words came with it."]
    assert chat_turn.notes == {"sound_left_out": True}


def test_an_answer_in_nothing_but_sound_fails_and_says_why() -> None:
    """An empty answer that is called complete would be a lie. Asking again would not help."""
    last = client_events(turn(), SOUND, SOUND, stops())[-1]
    error = last["response"]["error"]
    assert (error["code"], error["message"]) == ("invalid_prompt", ONLY_AUDIO.message)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"output_modalities": ["audio"]}, "output_modalities"),
        ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
        ({"modalities": ["audio"], "audio": {}}, "audio"),
    ],
)
def test_sound_that_is_asked_for_is_refused(fields: dict[str, Any], param: str) -> None:
    """The Responses API has no form for it."""
    with pytest.raises(ProblemError) as raised:
        ask(**fields)
    problem = raised.value.problem
    assert (problem.code, problem.param, problem.shape.status) == ("unsupported_parameter", param, 400)


def test_text_alone_may_be_asked_for() -> None:
    assert ask(modalities=["text"]).body.keys() == ask().body.keys()
