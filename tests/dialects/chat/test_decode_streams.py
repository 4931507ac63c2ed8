"""Several chunks of a chat server, read one after the other."""

from typing import Any

import pytest

from app.dialects.chat.decode import ChunkReader
from app.emitter.deltas import (
    Broke,
    CallArguments,
    CallOpened,
    Delta,
    ReasoningDelta,
    RefusalTextDelta,
    Stopped,
    TextDelta,
)
from app.protocol.problems import Problem
from tests.support.chat_chunks import call, calls, chunk

SEVERAL: list[tuple[str, list[dict[str, Any]], list[Delta]]] = [
    (
        "two calls with indices, interleaved",
        [
            calls(call(0, "f", "", "c1"), call(1, "g", "", "c2")),
            calls(call(1, None, "{")),
            calls(call(0, None, "[")),
        ],
        [CallOpened(0, "f", "c1"), CallOpened(1, "g", "c2"), CallArguments(1, "{"), CallArguments(0, "[")],
    ),
    (
        "the same index with another id",
        [calls(call(0, "f", "{}", "c1")), calls(call(0, "f", "{}", "c2"))],
        [CallOpened(0, "f", "c1"), CallArguments(0, "{}"), CallOpened(1, "f", "c2"), CallArguments(1, "{}")],
    ),
    (
        "id and name on every fragment",
        [calls(call(0, "f", "{", "c1")), calls(call(0, "f", "}", "c1"))],
        [CallOpened(0, "f", "c1"), CallArguments(0, "{"), CallArguments(0, "}")],
    ),
    (
        "another id on every fragment, the name on the first only",
        [calls(call(0, "f", "{", "c1")), calls(call(0, None, "}", "c2"))],
        [CallOpened(0, "f", "c1"), CallArguments(0, "{"), CallArguments(0, "}")],
    ),
    (
        "no id, no index, two functions",
        [calls(call(None, "f", "{}")), calls(call(None, "g", "{}"))],
        [CallOpened(0, "f"), CallArguments(0, "{}"), CallOpened(1, "g"), CallArguments(1, "{}")],
    ),
    (
        "no id, no index, the same function twice",
        [calls(call(None, "f", "{}"), call(None, "f", '{"a":1}'))],
        [CallOpened(0, "f"), CallArguments(0, "{}"), CallOpened(1, "f"), CallArguments(1, '{"a":1}')],
    ),
    (
        "no id, the name on every fragment",
        [calls(call(0, "f", '{"a":')), calls(call(0, "f", "1}"))],
        [CallOpened(0, "f"), CallArguments(0, '{"a":'), CallArguments(0, "1}")],
    ),
    (
        "the id first, the name later",
        [calls(call(0, None, "{", "c1")), calls(call(0, "f", "}"))],
        [CallOpened(0, "f", "c1"), CallArguments(0, "{"), CallArguments(0, "}")],
    ),
    (
        "a character cut in two inside arguments",
        [calls(call(0, "f", '"\ud83d', "c1")), calls(call(0, None, '\ude00"'))],
        [CallOpened(0, "f", "c1"), CallArguments(0, '"'), CallArguments(0, '\U0001f600"')],
    ),
    (
        "halves that never meet",
        [
            chunk({"reasoning": "a\ud83d"}),
            chunk({"content": "b\ud83d"}),
            chunk({"refusal": "c\ud83d"}),
            calls(call(0, "f", "\ud83d", "c1")),
        ],
        [
            ReasoningDelta("a"),
            TextDelta("b"),
            RefusalTextDelta("c"),
            CallOpened(0, "f", "c1"),
            ReasoningDelta("\ufffd"),
            TextDelta("\ufffd"),
            RefusalTextDelta("\ufffd"),
            CallArguments(0, "\ufffd"),
        ],
    ),
    (
        "Snowflake's function_call without a call",
        [chunk({"content": "Hi", "function_call": {"name": "", "arguments": "{}"}})],
        [TextDelta("Hi")],
    ),
    (
        "Snowflake's function_call beside a call",
        [chunk({"tool_calls": [call(0, "f", "{}", "c1")], "function_call": {"name": "", "arguments": ""}})],
        [CallOpened(0, "f", "c1"), CallArguments(0, "{}")],
    ),
    (
        "no reason, and a call that is whole",
        [
            calls(call(0, "f", '{"a":', "c1"), call(1, "g", None, "c2")),
            calls(call(0, None, "1}")),
            chunk(finish="unstated"),
        ],
        [
            CallOpened(0, "f", "c1"),
            CallArguments(0, '{"a":'),
            CallOpened(1, "g", "c2"),
            CallArguments(0, "1}"),
            Stopped("end"),
        ],
    ),
    (
        "no reason, and a call that is not",
        [calls(call(0, "f", '{"a":', "c1")), chunk(finish="unstated")],
        [CallOpened(0, "f", "c1"), CallArguments(0, '{"a":')],
    ),
    ("an entry without a call", [calls(call(0, "", "")), calls(call(0, None, None, ""))], []),
    (
        "the old form in pieces",
        [chunk({"function_call": {"name": "f", "arguments": "{"}}), chunk({"function_call": {"arguments": "}"}})],
        [CallOpened(0, "f"), CallArguments(0, "{"), CallArguments(0, "}")],
    ),
    (
        "thoughts that the details say again at the end",
        [
            chunk({"reasoning": "hm"}),
            chunk({"reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "c2ln"}]}),
        ],
        [ReasoningDelta("hm")],
    ),
    (
        "a call that never gets a name",
        [calls(call(0, None, "{}", "c1"))],
        [Broke(Problem(code="upstream_error", message="The model's server sent a tool call without a name."))],
    ),
]


@pytest.mark.parametrize(("sent", "deltas"), [case[1:] for case in SEVERAL], ids=[case[0] for case in SEVERAL])
def test_several_chunks_say(sent: list[dict[str, Any]], deltas: list[Delta]) -> None:
    reader = ChunkReader()
    assert [delta for one in sent for delta in reader.read(one)] + reader.rest() == deltas


def test_thoughts_between_tags_are_reasoning_where_the_model_is_known_to_write_them() -> None:
    reader = ChunkReader(think_tags=True)
    deltas = (
        reader.read(chunk({"content": "<think>hm</thi"})) + reader.read(chunk({"content": "nk>Hi"})) + reader.rest()
    )
    assert [delta for delta in deltas if delta not in (TextDelta(""), ReasoningDelta(""))] == [
        ReasoningDelta("hm"),
        TextDelta("Hi"),
    ]


def test_what_was_said_is_counted_for_upstreams_that_count_nothing() -> None:
    reader = ChunkReader()
    reader.read(chunk({"content": "Hi", "reasoning": "hm", "refusal": "No", "tool_calls": [call(0, "f", "{}")]}))
    assert reader.written == 8
