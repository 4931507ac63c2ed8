"""Log probabilities go to those who ask for them."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.decode import ChunkReader
from app.options import ModelOptions
from tests.support.chat_answers import client_events, turn
from tests.wire.script import says, stops

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
    events = client_events(talk, says("Hi", logprobs={"content": [TOKEN]}), stops())
    result = [TOKEN] if wanted else []
    assert [event["logprobs"] for event in events if "logprobs" in event] == [result, result]
    part = events[-1]["response"]["output"][0]["content"][0]
    assert part.get("logprobs", []) == result
    assert ("logprobs" in part) is wanted


def test_they_come_with_content_in_parts_too() -> None:
    """Those of a list of parts come once."""
    talk = turn(top_logprobs=1)
    chunk = says("", logprobs={"content": [TOKEN]})
    chunk["choices"][0]["delta"]["content"] = [{"type": "text", "text": "Hi"}, {"type": "text", "text": " you"}]
    events = client_events(talk, chunk, stops())
    assert events[-1]["response"]["output"][0]["content"][0]["logprobs"] == [TOKEN]


def token(text: str) -> dict[str, Any]:
    return {"token": text, "logprob": -0.5, "bytes": [*text.encode()], "top_logprobs": []}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([["Hi"], [" you"]], ["Hi", " you"]),
        ([["<"], ["i>"], ["Hi"]], ["<", "i>", "Hi"]),
        ([["\n"], ["<", "th"], ["at"]], ["\n", "<", "th", "at"]),
        ([["<think>"], ["hm"], ["</think>"], ["Hi"]], ["Hi"]),
        ([["<think>", "hm", "</think>", "Hi", " you"]], ["Hi", " you"]),
        ([["<think>hm</", "think>Hi"]], ["think>Hi"]),
        ([["<thi"]], ["<thi"]),
        ([["<think>"], ["hm"]], []),
    ],
    ids=str,
)
def test_text_that_may_have_been_a_thought_keeps_them(pieces: list[list[str]], expected: list[str]) -> None:
    """Those of thoughts have no place in any event. A token of which a part is text is told."""
    talk = turn(ChatOptions(model=ModelOptions(think_tags=True)), top_logprobs=1)
    chunks = [says("".join(tokens), logprobs={"content": [token(text) for text in tokens]}) for tokens in pieces]
    output = client_events(talk, *chunks, stops())[-1]["response"]["output"]
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    assert [entry["token"] for part in parts for entry in part.get("logprobs", [])] == expected


def test_white_space_is_not_held_back_forever() -> None:
    """Each further piece would cost a look at all of it."""
    reader = ChunkReader(think_tags=True)
    deltas = [delta for _ in range(2_000) for delta in reader.read(says(" "))]
    assert len(deltas) > 900
