"""Chunk in, deltas out: a table of what upstreams really send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.chat.decode import ChunkReader
from app.emitter.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    CallOpened,
    Delta,
    ReasoningDelta,
    RefusalTextDelta,
    Stopped,
    TextDelta,
    UsageReported,
)
from app.protocol.problems import Problem
from app.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from tests.support.chat_chunks import call, calls, chunk

UNREADABLE = Problem(code="upstream_error", message="The model's server sent something that is no chat chunk.")
REPORTED = Problem(code="upstream_error", message="The model's server reported an error while it answered.")
CITED = {"type": "url_citation", "start_index": 0, "end_index": 2, "url": "https://a.example/", "title": "A"}

ONE_CHUNK: list[tuple[str, Any, list[Delta]]] = [
    ("text", chunk({"content": "Hi"}), [TextDelta("Hi")]),
    ("empty text says nothing", chunk({"content": ""}), []),
    ("a role alone says nothing", chunk({"role": "assistant", "content": None}), []),
    ("reasoning_content", chunk({"reasoning_content": "hm"}), [ReasoningDelta("hm")]),
    ("reasoning", chunk({"reasoning": "hm"}), [ReasoningDelta("hm")]),
    ("both names of one thought", chunk({"reasoning": "hm", "reasoning_content": "hm"}), [ReasoningDelta("hm")]),
    (
        "a thought in OpenRouter's details alone",
        chunk({"reasoning": None, "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
        [ReasoningDelta("hm")],
    ),
    (
        "a thought in Snowflake's details alone",
        chunk({"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}, {"text": " so"}, 7]}),
        [ReasoningDelta("hm so")],
    ),
    (
        "details that can only be carried",
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}, {"type": "x", "text": 7}]}),
        [],
    ),
    (
        "details that repeat the thought",
        chunk({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        [ReasoningDelta("hm")],
    ),
    ("thought before text", chunk({"content": "Hi", "reasoning": "hm"}), [ReasoningDelta("hm"), TextDelta("Hi")]),
    ("a refusal", chunk({"refusal": "No."}), [RefusalTextDelta("No.")]),
    (
        "parts, as Mistral sends them",
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "Hi"}, 7]}),
        [ReasoningDelta("hm"), TextDelta("Hi")],
    ),
    ("a citation waits for its text", chunk({"annotations": [{"type": "url_citation", "url_citation": CITED}]}), []),
    (
        "text and its citation",
        chunk({"content": "Hi", "annotations": [CITED, "junk"]}),
        [TextDelta("Hi"), AnnotationAdded(CITED, 2, 0)],
    ),
    ("a call that Claude's own server runs", calls(call(0, "web_search", '{"q":1}', id="srvtoolu_1")), []),
    ("stop", chunk(finish="stop"), [Stopped("end")]),
    ("tool_calls", chunk(finish="tool_calls"), [Stopped("end")]),
    ("an unknown reason is an end", chunk(finish="eos"), [Stopped("end")]),
    ("no reason, though it was over", chunk(finish="unstated"), [Stopped("end")]),
    ("an empty reason is none", chunk(finish=""), []),
    ("length", chunk(finish="length"), [Stopped("length")]),
    ("content_filter", chunk(finish="content_filter"), [Stopped("content_filter")]),
    ("SAFETY", chunk(finish="SAFETY"), [Stopped("content_filter")]),
    ("error as a reason", chunk(finish="error"), [Broke(REPORTED)]),
    ("a whole message instead of a delta", {"choices": [{"message": {"content": "Hi"}}]}, [TextDelta("Hi")]),
    ("no choice", {"choices": []}, []),
    ("a choice that is no object", {"choices": ["x"]}, []),
    ("something that is no object", ["x"], [Broke(UNREADABLE)]),
    ("an error", {"error": {"message": "sk-secret"}}, [Broke(REPORTED)]),
    ("an error of one word", {"error": "overloaded"}, [Broke(REPORTED)]),
    ("an error with a code, which upstreams tell instead", {"error": {"code": 429}}, [Broke(REPORTED)]),
    (
        "usage with details",
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        },
        [
            UsageReported(
                Usage(
                    input_tokens=10,
                    output_tokens=5,
                    total_tokens=15,
                    input_tokens_details=InputTokensDetails(cached_tokens=4, cache_write_tokens=2),
                    output_tokens_details=OutputTokensDetails(reasoning_tokens=3),
                )
            )
        ],
    ),
    (
        "usage without a total, with nulls",
        {"usage": {"prompt_tokens": 1, "completion_tokens": 2.0, "prompt_tokens_details": None}},
        [UsageReported(Usage(input_tokens=1, output_tokens=2, total_tokens=3))],
    ),
    (
        "log probabilities",
        chunk(
            {"content": "Hi"},
            logprobs={"content": [{"token": "Hi", "logprob": -0.1, "top_logprobs": [{"token": "Ho", "logprob": -2}]}]},
        ),
        [
            TextDelta(
                "Hi",
                [
                    {
                        "token": "Hi",
                        "logprob": -0.1,
                        "bytes": [72, 105],
                        "top_logprobs": [{"token": "Ho", "logprob": -2, "bytes": [72, 111]}],
                    }
                ],
            )
        ],
    ),
    (
        "name and arguments in one chunk",
        calls(call(0, "f", "{}", "c1")),
        [CallOpened(0, "f", "c1"), CallArguments(0, "{}")],
    ),
    (
        "arguments as an object",
        calls(call(0, "f", {"a": 1}, "c1")),
        [CallOpened(0, "f", "c1"), CallArguments(0, '{"a":1}')],
    ),
    (
        "the old form",
        chunk({"function_call": {"name": "f", "arguments": "{}"}}),
        [CallOpened(0, "f"), CallArguments(0, "{}")],
    ),
    ("a fragment that is no object", chunk({"tool_calls": ["x", {"function": 7}]}), []),
]


@pytest.mark.parametrize(("sent", "deltas"), [case[1:] for case in ONE_CHUNK], ids=[case[0] for case in ONE_CHUNK])
def test_one_chunk_says(sent: Any, deltas: list[Delta]) -> None:
    assert ChunkReader().read(sent) == deltas


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "index",
                    "usage",
                    "finish_reason",
                    "error",
                    "logprobs",
                    "annotations",
                    "type",
                    "text",
                    "thinking",
                    "token",
                    "bytes",
                    "top_logprobs",
                    "prompt_tokens",
                    "reasoning",
                    "refusal",
                    "function_call",
                    "message",
                    "code",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


CHUNKS = JSON | st.fixed_dictionaries(
    {
        "choices": st.tuples(
            st.fixed_dictionaries(
                {
                    "delta": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": JSON,
                            "tool_calls": st.lists(JSON | st.fixed_dictionaries({"function": JSON}), max_size=2),
                            "annotations": JSON,
                        },
                    ),
                    "logprobs": st.fixed_dictionaries(
                        {"content": st.lists(JSON | st.fixed_dictionaries({"top_logprobs": JSON}), max_size=2)}
                    ),
                    "finish_reason": JSON,
                }
            )
        ).map(list)
    },
    optional={"usage": st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON})},
)


@given(st.lists(CHUNKS, max_size=5))
def test_no_chunk_is_too_strange_to_be_read(chunks: list[Any]) -> None:
    reader = ChunkReader(think_tags=True)
    for one in chunks:
        reader.read(one)
    reader.rest()
