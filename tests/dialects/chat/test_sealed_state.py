"""What an upstream said and no item can show: carried by the client, given back to the same upstream to the letter."""

from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.prompt.conversation import UNREADABLE
from app.protocol.response import Identity
from app.sealing import EnvelopeSealer
from tests.support.grammar import check
from tests.support.judges import judge
from tests.support.stage import OpenBook
from tests.support.warned import sentences

Json = dict[str, Any]

HOME: Final = ChatOptions(sealer=OpenBook(), origin="litellm anthropic", one_maker=True)
ASKING: Final = {"include": ["reasoning.encrypted_content"], "store": False}
HI: Final = {"role": "user", "content": "Hi"}
SIGNED: Final = {"type": "thinking", "thinking": "hm", "signature": "s1"}
REDACTED: Final = {"type": "redacted_thinking", "data": "opaque"}
PSF: Final = "provider_specific_fields"


def delta(**fields: Any) -> Json:
    """A chunk that says this."""
    return {"choices": [{"index": 0, "delta": fields}]}


def psf(fields: Any) -> Json:
    """What litellm puts beside a provider's own words."""
    return {PSF: fields}


def calls(index: int, call_id: str, name: str = "f", arguments: str = "{}", **fields: Any) -> Json:
    """A chunk with one fragment of a call."""
    function = {"name": name, "arguments": arguments}
    return delta(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function, **fields}])


def turn(items: list[Json], options: ChatOptions = HOME, *, model: str = "m", **fields: Any) -> ChatTurn:
    """A turn with this input."""
    numbers = count(2)
    return ChatTurn(
        parse_request(msgspec.json.encode({"model": "public", "input": items, **ASKING, **fields})),
        model=model,
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        mint=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def answered(chunks: Iterable[Json], options: ChatOptions = HOME, *, stop: str = "stop", **fields: Any) -> list[Json]:
    """The output items of a turn in which the upstream said this."""
    talking = turn([HI], options, **fields)
    events = talking.begin()
    for chunk in [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}]:
        events += talking.receive(chunk)
    plain: list[Json] = [msgspec.json.decode(msgspec.json.encode(event)) for event in [*events, *talking.end()]]
    check(plain)
    judge(plain)
    output: list[Json] = plain[-1]["response"]["output"]
    return output


def asked_again(output: list[Json], options: ChatOptions = HOME, **fields: Any) -> tuple[list[Json], list[str]]:
    """The assistant's messages of the next ask, once the client sent all items back with an output for each call."""
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "fine"}
        for item in output
        if item["type"] == "function_call"
    ]
    bare = [{key: value for key, value in item.items() if key not in {"id", "status"}} for item in output]
    again = turn([HI, *bare, *outputs], options, **fields)
    return [message for message in again.ask["messages"] if message["role"] == "assistant"], sentences(again.warnings)


def call(call_id: str, name: str = "f", arguments: str = "{}", **fields: Any) -> Json:
    """A call as a message holds it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


TALKS: dict[str, tuple[list[Json], Json]] = {
    "DeepSeek: thoughts to the letter, broken off by text": (
        [delta(reasoning_content=" h"), delta(reasoning_content="m\n"), delta(content="ok"), calls(0, "c")],
        {"content": "ok", "reasoning_content": " hm\n", "tool_calls": [call("c")]},
    ),
    "thoughts in several places are one again": (
        [delta(reasoning_content="a "), calls(0, "c"), delta(reasoning_content="b"), calls(1, "d")],
        {"content": None, "reasoning_content": "a b", "tool_calls": [call("c"), call("d")]},
    ),
    "Anthropic: signed thoughts in pieces, as litellm tells them": (
        [
            delta(reasoning_content="h", thinking_blocks=[{"type": "thinking", "thinking": "h", "index": 0}]),
            delta(reasoning_content="m", thinking_blocks=[{"type": "thinking", "thinking": "m", "index": 0}]),
            delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s1", "index": 0}]),
            calls(0, "c", arguments=""),
            calls(0, "", name="", arguments='{"a": 1}'),
        ],
        {
            "content": None,
            "reasoning_content": "hm",
            "thinking_blocks": [SIGNED],
            "tool_calls": [call("c", arguments='{"a": 1}')],
        },
    ),
    "Anthropic: redacted ones in their order, with text between": (
        [
            delta(thinking_blocks=[REDACTED]),
            delta(reasoning_content="hm", thinking_blocks=[{"type": "thinking", "thinking": "hm", "index": 1}]),
            delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s1", "index": 1}]),
            delta(thinking_blocks=[REDACTED]),
            delta(content="ok"),
            delta(reasoning_content="so", thinking_blocks=[{"type": "thinking", "thinking": "so", "index": 3}]),
            delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s2", "index": 3}]),
            calls(0, "c"),
        ],
        {
            "content": "ok",
            "reasoning_content": "hmso",
            "thinking_blocks": [
                REDACTED,
                SIGNED,
                REDACTED,
                {"type": "thinking", "thinking": "so", "signature": "s2"},
            ],
            "tool_calls": [call("c")],
        },
    ),
    "Anthropic: nothing but a redacted thought": (
        [delta(thinking_blocks=[REDACTED]), delta(content="ok")],
        {"content": "ok", "thinking_blocks": [REDACTED]},
    ),
    "blocks that nobody signed are text": (
        [delta(reasoning_content="hm", thinking_blocks=[{"type": "thinking", "thinking": "hm"}]), delta(content="ok")],
        {"content": "ok", "reasoning_content": "hm"},
    ),
    "Gemini: litellm's signature behind the id of a call": (
        [
            delta(reasoning_content="hm"),
            calls(0, "call_1__thought__Sig+/==", **psf({"thought_signature": "Sig+/=="})),
            calls(1, "call_2"),
        ],
        {
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [call("call_1", **psf({"thought_signature": "Sig+/=="})), call("call_2")],
        },
    ),
    "Gemini: the same without thoughts, and in the id alone": (
        [delta(content="ok"), calls(0, "call_1__thought__Sig"), calls(1, "call_2__thought__Gis")],
        {
            "content": "ok",
            "tool_calls": [
                call("call_1", **psf({"thought_signature": "Sig"})),
                call("call_2", **psf({"thought_signature": "Gis"})),
            ],
        },
    ),
    "Gemini: a signature of the text, and none of litellm's other fields": (
        [
            delta(content="o", **psf({"vertex_ai_safety_results": [1]})),
            delta(content="k"),
            delta(**psf({"thought_signatures": ["Sig"], "vertex_ai_safety_results": [1]})),
        ],
        {"content": "ok", PSF: {"thought_signatures": ["Sig"]}},
    ),
    "Gemini's own chat endpoint": (
        [calls(0, "c", extra_content={"google": {"thought_signature": "Sig"}}), calls(1, "d")],
        {
            "content": None,
            "tool_calls": [call("c", extra_content={"google": {"thought_signature": "Sig"}}), call("d")],
        },
    ),
    "a signature that comes behind its call, and again with every fragment": (
        [
            calls(0, "c", arguments=""),
            calls(0, "c", name="", arguments="{", thought_signature="Sig"),
            calls(0, "c", name="", arguments="}", thought_signature="Sig"),
        ],
        {"content": None, "tool_calls": [call("c", thought_signature="Sig")]},
    ),
    "OpenRouter: details of two kinds in pieces": (
        [
            delta(reasoning="h", reasoning_details=[{"type": "reasoning.text", "text": "h", "id": None, "index": 0}]),
            delta(reasoning="m", reasoning_details=[{"type": "reasoning.text", "text": "m", "id": None, "index": 0}]),
            delta(reasoning_details=[{"type": "reasoning.text", "signature": "s1", "format": "a", "index": 0}]),
            delta(content="ok"),
            delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "x", "id": "c", "index": 1}]),
            calls(0, "c"),
            delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "y", "id": "d", "index": 2}]),
        ],
        {
            "content": "ok",
            "reasoning_content": "hm",
            "reasoning_details": [
                {
                    "type": "reasoning.text",
                    "text": "hm",
                    "id": None,
                    "index": 0,
                    "signature": "s1",
                    "format": "a",
                },
                {"type": "reasoning.encrypted", "data": "x", "id": "c", "index": 1},
                {"type": "reasoning.encrypted", "data": "y", "id": "d", "index": 2},
            ],
            "tool_calls": [call("c")],
        },
    ),
    "OpenRouter: a signature without words, and thoughts with ids of their own": (
        [
            delta(reasoning_details=[{"type": "reasoning.text", "signature": "s0", "index": 0}]),
            delta(
                reasoning="a", reasoning_details=[{"type": "reasoning.summary", "summary": "a", "id": "1", "index": 1}]
            ),
            delta(
                reasoning="b", reasoning_details=[{"type": "reasoning.summary", "summary": "b", "id": "2", "index": 1}]
            ),
            delta(reasoning_details=[{"type": "reasoning.text", "text": None, "data": "z"}] * 2),
            delta(reasoning="c", reasoning_details=[{"type": "reasoning.text", "text": "c", "signature": "s1"}]),
            delta(reasoning="d", reasoning_details=[{"type": "reasoning.text", "text": "d", "signature": "s2"}]),
            delta(content="ok"),
        ],
        {
            "content": "ok",
            "reasoning_content": "abcd",
            "reasoning_details": [
                {"type": "reasoning.text", "signature": "s0", "index": 0},
                {"type": "reasoning.summary", "summary": "a", "id": "1", "index": 1},
                {"type": "reasoning.summary", "summary": "b", "id": "2", "index": 1},
                {"type": "reasoning.text", "text": "c", "data": "z", "signature": "s1"},
                {"type": "reasoning.text", "text": "d", "signature": "s2"},
            ],
        },
    ),
    "OpenAI's own items, as litellm tells them": (
        [delta(reasoning_items=[{"type": "reasoning", "id": "rs_1", "encrypted_content": "gA"}]), delta(content="ok")],
        {"content": "ok", "reasoning_items": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "gA"}]},
    ),
    "fields of the wrong type are none": (
        [
            delta(content="ok", thinking_blocks="x", reasoning_details=[1], extra_content=[], **psf("x")),
            calls(0, "c", extra_content="x", thought_signature=[], **psf([])),
        ],
        {"content": "ok", "tool_calls": [call("c")]},
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_the_same_upstream_is_told_its_own_message_again(name: str) -> None:
    chunks, message = TALKS[name]
    output = answered(chunks)
    assert all(len(item.get("call_id", "")) <= 64 for item in output)
    messages, warnings = asked_again(output)
    assert messages == [{"role": "assistant", **message}]
    assert warnings == []


@pytest.mark.parametrize("name", TALKS)
def test_another_upstream_is_told_what_can_be_read(name: str) -> None:
    """Text, thoughts and calls, and no field that only the first would know."""
    chunks, message = TALKS[name]
    output = answered(chunks)
    for elsewhere in (replace(HOME, origin="litellm gemini"), replace(HOME, origin="litellm gemini", one_maker=False)):
        [told], warnings = asked_again(output, elsewhere)
        wanted: Json = {key: message[key] for key in ("content", "reasoning_content") if key in message}
        if "tool_calls" in message:
            wanted["tool_calls"] = [
                {key: made[key] for key in ("id", "type", "function")} for made in message["tool_calls"]
            ]
        if "reasoning_content" in told:  # thoughts of somebody else are set apart from each other
            told["reasoning_content"] = told["reasoning_content"].replace("\n\n", "")
        assert told == {"role": "assistant"} | wanted
        left_out = [
            f"input[{seat}] was left out: {UNREADABLE}" for seat, item in enumerate(output, 1) if is_closed(item)
        ]
        assert warnings == left_out


def is_closed(item: Json) -> bool:
    """Whether nobody but its own upstream could read anything of this thought."""
    return item["type"] == "reasoning" and not item["summary"] and '"fields":' in item["encrypted_content"]


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
        [told], [warning] = asked_again([thought, message])
        assert told == {"role": "assistant", "content": "ok"} | ({"reasoning_content": "hm"} if shown else {})
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
        told = {"role": "assistant", "content": "ok", "reasoning_content": " hm"}
        assert asked_again([thought, message], again) == ([told], [])
    assert answered(chunks, replace(options, seal_always=False), include=[]) == [{**message, "id": "msg_AM-2"}]


def test_thoughts_that_are_not_wanted_back_take_their_fields_with_them_but_not_those_of_calls() -> None:
    chunks = [delta(reasoning_content="hm", thinking_blocks=[SIGNED]), calls(0, "c", thought_signature="Sig")]
    [told], warnings = asked_again(answered(chunks), replace(HOME, model=ModelOptions(give_back_reasoning=False)))
    assert told == {"role": "assistant", "content": None, "tool_calls": [call("c", thought_signature="Sig")]}
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


# Any talk

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)
letters = st.text("abcXYZ019+/=", min_size=1, max_size=12)


@st.composite
def messages_said(draw: st.DrawFn) -> Json:
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


@given(messages_said(), st.integers(1, 4), st.booleans())
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
