"""Sealed state of a provider: for whom it is carried, what holds against it, and where it stands."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.prompt.item_reader import UNREADABLE
from app.sealing import EnvelopeSealer
from tests.support.sealed_answers import (
    HOME,
    PSF,
    REDACTED,
    SIGNED,
    Json,
    answered,
    asked_again,
    call,
    calls,
    delta,
)


def test_models_of_several_makers_behind_one_upstream_do_not_get_each_others_signatures() -> None:
    chunks = [delta(reasoning_content="hm", thinking_blocks=[SIGNED]), delta(content="ok")]
    router = replace(HOME, origin="litellm openrouter", one_maker=False)
    output = answered(chunks, router, model="a/one")
    bare = {"role": "assistant", "content": "ok", "reasoning_content": "hm"}
    assert asked_again(output, router, model="a/one")[0] == [{**bare, "thinking_blocks": [SIGNED]}]
    assert asked_again(output, router, model="b/two")[0] == [bare]
    assert asked_again(answered(chunks, model="one"), model="two")[0] == [{**bare, "thinking_blocks": [SIGNED]}]


def test_what_is_sealed_holds_against_what_is_shown() -> None:
    """A client may shorten a summary, or show another."""
    [thought, message] = answered([delta(reasoning_content="hm"), delta(content="ok")])
    thought["summary"] = [{"type": "summary_text", "text": "something else"}]
    assert asked_again([thought, message])[0][0]["reasoning_content"] == "hm"
    assert asked_again([thought, message], replace(HOME, origin="other"))[0][0]["reasoning_content"] == "hm"


@pytest.mark.parametrize("shown", [True, False])
def test_what_cannot_be_opened_is_ignored_with_a_warning(shown: bool) -> None:  # noqa: FBT001 — one of the two
    [thought, message] = answered([delta(reasoning_content="hm", thinking_blocks=[SIGNED]), delta(content="ok")])
    for forged in ("gAAA", "AM1.AAAA", "reasonin {}"):
        thought |= {"encrypted_content": forged, "summary": thought["summary"] if shown else []}
        [result], [warning] = asked_again([thought, message])
        assert result == {"role": "assistant", "content": "ok"} | ({"reasoning_content": "hm"} if shown else {})
        ignored = f"input[1].encrypted_content was ignored: {UNREADABLE} Its text is sent instead."
        assert warning == (ignored if shown else f"input[1] was left out: {UNREADABLE}")


@pytest.mark.parametrize(
    ("options", "fields", "sealed"),
    [
        (HOME, {}, True),
        (HOME, {"include": []}, False),
        (replace(HOME, seal_always=True), {"include": []}, True),
        (replace(HOME, sealer=None), {}, False),
        (replace(HOME, sealer=None, seal_always=True), {}, False),
    ],
)
def test_it_is_carried_for_whoever_asks_or_for_all_or_for_nobody(
    options: ChatOptions,
    fields: Json,
    sealed: bool,  # noqa: FBT001 — what is expected
) -> None:
    chunks = [delta(reasoning_content="hm"), calls(0, "call_1__thought__Sig")]
    [thought, made] = answered(chunks, options, **fields)
    assert ("encrypted_content" in thought) == sealed
    # where nobody carries it, the signature stays where litellm wrote it, and is not lost
    assert made["call_id"] == ("call_1" if sealed else "call_1__thought__Sig")


def test_a_thought_that_is_not_shown_is_carried_all_the_same() -> None:
    """It goes back to any upstream, and the client reads nothing of it."""
    options = replace(HOME, seal_always=True, model=ModelOptions(reasoning="on_request"))
    chunks = [delta(reasoning_content=" h"), delta(reasoning_content="m"), delta(content="ok")]
    [thought, message] = answered(chunks, options, include=[])
    assert (thought["summary"], "content" in thought) == ([], False)
    for again in (options, replace(options, origin="elsewhere")):
        result = {"role": "assistant", "content": "ok", "reasoning_content": " hm"}
        assert asked_again([thought, message], again) == ([result], [])
    assert answered(chunks, replace(options, seal_always=False), include=[]) == [{**message, "id": "msg_AM-2"}]


def test_thoughts_that_are_not_wanted_back_take_their_fields_with_them_but_not_those_of_calls() -> None:
    chunks = [delta(reasoning_content="hm", thinking_blocks=[SIGNED]), calls(0, "c", thought_signature="Sig")]
    [result], warnings = asked_again(answered(chunks), replace(HOME, model=ModelOptions(give_back_reasoning=False)))
    assert result == {"role": "assistant", "content": None, "tool_calls": [call("c", thought_signature="Sig")]}
    assert warnings == []


def test_thoughts_may_stand_behind_an_output_and_before_the_next_calls() -> None:
    """Two rounds of tools in one input: each message gets its own back."""
    first = answered([delta(reasoning_content="a", thinking_blocks=[SIGNED]), calls(0, "c")])
    second = answered([delta(thinking_blocks=[REDACTED]), calls(0, "d", thought_signature="Sig")])
    output = {"type": "function_call_output", "call_id": "c", "output": "fine"}
    messages, _ = asked_again([*first, output, *second])
    assert messages == [
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "a",
            "thinking_blocks": [SIGNED],
            "tool_calls": [call("c")],
        },
        {
            "role": "assistant",
            "content": None,
            "thinking_blocks": [REDACTED],
            "tool_calls": [call("d", thought_signature="Sig")],
        },
    ]


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)


letters = st.text("abcXYZ019+/=", min_size=1, max_size=12)


@st.composite
def past_messages(draw: st.DrawFn) -> Json:
    """A message as Anthropic, Gemini and OpenRouter all together might say it."""
    blocks = draw(
        st.lists(
            st.builds(lambda data: {"type": "redacted_thinking", "data": data}, letters)
            | st.builds(lambda text, sign: {"type": "thinking", "thinking": text, "signature": sign}, words, letters),
            max_size=4,
        )
    )
    details = draw(st.lists(st.builds(lambda data: {"type": "reasoning.encrypted", "data": data}, letters), max_size=2))
    made = [
        call(f"call_{number}", arguments=draw(st.sampled_from(["{}", '{"a":  1}']))) | fields
        for number, fields in enumerate(
            draw(
                st.lists(st.just({}) | st.builds(lambda sign: {PSF: {"thought_signature": sign}}, letters), max_size=3)
            )
        )
    ]
    thought = "".join(block.get("thinking", "") for block in blocks)
    text = draw(words) if not made else draw(st.none() | words)
    return {
        "role": "assistant",
        "content": text,
        **({"reasoning_content": thought} if thought else {}),
        **({"thinking_blocks": blocks} if blocks else {}),
        **({"reasoning_details": details} if details else {}),
        **({"tool_calls": made} if made else {}),
    }


def pieces(text: str, size: int) -> list[str]:
    """The text, cut."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def streamed(message: Json, size: int) -> Iterable[Json]:
    """The chunks in which an upstream would say this message."""
    for index, block in enumerate(message.get("thinking_blocks", [])):
        if block["type"] == "redacted_thinking":
            yield delta(thinking_blocks=[block])
            continue
        for text in pieces(block["thinking"], size):
            part = {"type": "thinking", "thinking": text, "index": index}
            yield delta(reasoning_content=text, thinking_blocks=[part])
        yield delta(
            thinking_blocks=[{"type": "thinking", "thinking": "", "signature": block["signature"], "index": index}]
        )
    for text in pieces(message["content"] or "", size):
        yield delta(content=text)
    for detail in message.get("reasoning_details", []):
        yield delta(reasoning_details=[detail])
    for index, made in enumerate(message.get("tool_calls", [])):
        fields = {PSF: made[PSF]} if PSF in made else {}
        suffix = f"__thought__{made[PSF]['thought_signature']}" if fields else ""
        yield calls(index, made["id"] + suffix, arguments="", **fields)
        for text in pieces(made["function"]["arguments"], size):
            yield delta(tool_calls=[{"index": index, "function": {"arguments": text}}])


@given(past_messages(), st.integers(1, 4), st.booleans())
def test_whatever_an_upstream_said_is_told_to_it_again(message: Json, size: int, raw: bool) -> None:  # noqa: FBT001 — drawn
    """Through real envelopes, and through a client that keeps neither ids nor what raw reasoning says."""
    sealer = EnvelopeSealer(["k" * 32], chance=lambda size: b"\x07" * size, now=lambda: 1_700_000_000).for_owner("")
    options = replace(HOME, sealer=sealer, model=ModelOptions(reasoning="text" if raw else "summary"))
    output = answered(streamed(message, size), options)
    for item in output:
        if item["type"] == "reasoning":
            item["content"] = None
    messages, warnings = asked_again(output, options)
    assert messages == [message]
    assert warnings == []
