"""What an upstream said and no item can show: carried by the client, given back to the same upstream to the letter."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.prompt.item_reader import UNREADABLE
from tests.support.sealed_answers import HOME, PSF, REDACTED, SIGNED, Json, answered, asked_again, call, calls, delta


def psf(fields: Any) -> Json:
    """What litellm puts beside a provider's own words."""
    return {PSF: fields}


CONVERSATIONS: dict[str, tuple[list[Json], Json]] = {
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


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_upstream_is_told_its_own_message_again(name: str) -> None:
    chunks, message = CONVERSATIONS[name]
    output = answered(chunks)
    assert all(len(item.get("call_id", "")) <= 64 for item in output)
    messages, warnings = asked_again(output)
    assert messages == [{"role": "assistant", **message}]
    assert warnings == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_another_upstream_is_told_what_can_be_read(name: str) -> None:
    """Text, thoughts and calls, and no field that only the first would know."""
    chunks, message = CONVERSATIONS[name]
    output = answered(chunks)
    for elsewhere in (replace(HOME, origin="litellm gemini"), replace(HOME, origin="litellm gemini", one_maker=False)):
        [result], warnings = asked_again(output, elsewhere)
        wanted: Json = {key: message[key] for key in ("content", "reasoning_content") if key in message}
        if "tool_calls" in message:
            wanted["tool_calls"] = [
                {key: made[key] for key in ("id", "type", "function")} for made in message["tool_calls"]
            ]
        if "reasoning_content" in result:  # thoughts of somebody else are set apart from each other
            result["reasoning_content"] = result["reasoning_content"].replace("\n\n", "")
        assert result == {"role": "assistant"} | wanted
        left_out = [
            f"input[{index}] was left out: {UNREADABLE}" for index, item in enumerate(output, 1) if is_closed(item)
        ]
        assert warnings == left_out


def is_closed(item: Json) -> bool:
    """Whether nobody but its own upstream could read anything of this thought."""
    return item["type"] == "reasoning" and not item["summary"] and '"fields":' in item["encrypted_content"]


# Any talk
