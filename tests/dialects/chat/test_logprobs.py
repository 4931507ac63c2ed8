"""Log probabilities go to those who ask for them."""

from typing import Any

import pytest

from tests.dialects.chat.hearing import heard, turn
from tests.script import says, stops

TOKEN = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, False),
        ({"top_logprobs": 0}, False),
        ({"top_logprobs": 2}, True),
        ({"include": ["message.output_text.logprobs"]}, True),
        ({"include": ["reasoning.encrypted_content"]}, False),
    ],
)
def test_they_are_told_when_they_were_asked_for_and_only_then(fields: dict[str, Any], wanted: bool) -> None:  # noqa: FBT001 — a row of the table
    """In the delta, in the done text and in the final part; the upstream sends them either way."""
    talk = turn(**fields)
    assert talk.ask.get("logprobs", False) is wanted
    events = heard(talk, says("Hi", logprobs={"content": [TOKEN]}), stops())
    told = [TOKEN] if wanted else []
    assert [event["logprobs"] for event in events if "logprobs" in event] == [told, told]
    part = events[-1]["response"]["output"][0]["content"][0]
    assert part.get("logprobs", []) == told
    assert ("logprobs" in part) is wanted


def test_they_come_with_content_in_parts_too() -> None:
    """Those of a list of parts come once."""
    talk = turn(top_logprobs=1)
    chunk = says("", logprobs={"content": [TOKEN]})
    chunk["choices"][0]["delta"]["content"] = [{"type": "text", "text": "Hi"}, {"type": "text", "text": " you"}]
    events = heard(talk, chunk, stops())
    assert events[-1]["response"]["output"][0]["content"][0]["logprobs"] == [TOKEN]
