"""A chat server's bytes, wherever they are cut, as chunks."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.upstreams import chat_lines
from app.upstreams.chat_lines import UNSTATED, ChatLines, NotAStreamError
from tests.support.scan import assert_lean

Json = dict[str, Any]


def read(*pieces: bytes) -> tuple[list[Json], str]:
    """The chunks, and why they ended if not well."""
    lines = ChatLines()
    chunks: list[Json] = []
    try:
        for piece in pieces:
            chunks.extend(lines.read(piece))
        chunks.extend(lines.end())
    except NotAStreamError as error:
        return chunks, str(error)
    return chunks, ""


NOT_JSON = "a chunk of the stream is not JSON"


@pytest.mark.parametrize(
    ("body", "chunks", "why"),
    [
        (b"", [], ""),
        (b": ping\n\n: ping\n\n", [], ""),
        (b'data: {"a":1}\n\ndata:{"a":2}\r\n\r\ndata: {"a":3}\r\r', [{"a": 1}, {"a": 2}, {"a": 3}], ""),
        (b'data: {"a":1}\ndata: {"a":2}\n', [{"a": 1}, {"a": 2}], ""),
        (b'data: {\ndata: "a":\ndata: 1}\n\n', [{"a": 1}], ""),
        (b'\xef\xbb\xbfdata: {"a":1}', [{"a": 1}], ""),
        (b'event: x\nid: 1\nretry: 5\ndata:\ndata: {"a":1}\n\n', [{"a": 1}], ""),
        (b'data: {"a":1}\n\ndata: [DONE]\n\ndata: {"a":2}\n\n', [{"a": 1}], ""),
        (b'data: {"a":1}\n\ndata:   [DONE]  \n\nrubbish', [{"a": 1}], ""),
        (b"data: [DONE]", [], ""),
        (b'data: {"a":"\\ud83d"}\n\ndata: {"a":"\\ude00"}\n\n', [{"a": "\ud83d"}, {"a": "\ude00"}], ""),
        (b'data: {"a":12345678901234567890123}\n\n', [{"a": 12345678901234567890123}], ""),
        ('data: {"a":"\u2028\u0085\x7f"}\n\n'.encode(), [{"a": "\u2028\u0085\x7f"}], ""),
        (b'data: {"a":1}\n\nnot of the stream\n\n', [{"a": 1}], ""),
        (b'data: {"a":1}\n\ndata: {nonsense\n\n', [{"a": 1}], NOT_JSON),
        (b'data: {"a":1}\n\ndata: {"a":', [{"a": 1}], NOT_JSON),
        (b"data: \xff\xfe\n\n", [], NOT_JSON),
        (b'data: {"\x80a":1}\n\n', [], NOT_JSON),
        (b"data: [1]\n\n", [], "a chunk of the stream is not an object"),
        (b"data: " + b'{"a":' * 200_000 + b"\n\n", [], NOT_JSON),
        (b"data: {\n" * 1100, [], "a line of the stream is too long"),
        (b"<html>\n\n<body>It works</body>", [], "the answer is neither a stream nor JSON"),
        (b"[" * 200_000, [], "the answer is neither a stream nor JSON"),
        (b'{"object":"list"}', [], "the answer is no chat completion"),
        (b'{"error": {\n  "message": "no"\n}}\n', [{"error": {"message": "no"}}], ""),
        (
            b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}',
            [{"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}],
            "",
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_answer_is_read_as_far_as_it_makes_sense(body: bytes, chunks: list[Json], why: str) -> None:
    assert read(body) == (chunks, why)


def test_a_line_that_is_too_long_is_read_no_further() -> None:
    assert read(b"x" * (33 * 1024 * 1024)) == ([], "a line of the stream is too long")


WITHOUT_WORDS = {
    "nothing": {},
    "an empty text": {"content": ""},
    "an empty part": {"content": [{"type": "text", "text": ""}]},
    "a part of an unknown kind": {"content": [{"type": "reference", "reference_ids": [1]}]},
    "an empty thought": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": ""}]}]},
    "an empty picture": {"images": [{"type": "image_url", "index": 1, "image_url": {"url": ""}}]},
    "a sealed thought": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "1", "index": 1}]},
    "a thought without words": {"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "x"}]},
    "a signature": {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "x"}]},
    "a signature of Gemini's": {"extra_content": {"google": {"thought_signature": "x"}}},
    "the end of a sound": {"audio": {"id": "audio_1", "expires_at": 1_700_000_000}},
    "citations": {"annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.example"}}]},
    "Snowflake's empty call": {"function_call": {"name": "", "arguments": ""}},
}
WITH_WORDS = {
    "text": {"content": "x"},
    "a part": {"content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]},
    "a thought in a part": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}]},
    "a picture in a part": {"content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
    "a picture": {"images": [{"image_url": "data:,"}]},
    "a thought": {"reasoning": "x"},
    "a thought in details": {"reasoning_details": [{"type": "reasoning.summary", "summary": "x"}]},
    "a thought in a block": {"thinking_blocks": [{"type": "thinking", "thinking": "x"}]},
    "sound": {"audio": {"data": "eA=="}},
    "a refusal": {"refusal": "x"},
    "a call": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "", "arguments": ""}}]},
    "arguments": {"tool_calls": [{"index": 0, "function": {"arguments": "x"}}]},
    "an old call": {"function_call": {"name": "f"}},
    "a field nobody knows": {"video": "x"},
    "a field of many levels": {"content": [{"text": json.loads('{"a":' * 400 + "1" + "}" * 400)}]},
}
STOPS: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": UNSTATED}]}


def line(chunk: Json) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(chunk)


@pytest.mark.parametrize(
    ("behind", "added"),
    [*((delta, [STOPS]) for delta in WITHOUT_WORDS.values()), *((delta, []) for delta in WITH_WORDS.values())],
    ids=[*WITHOUT_WORDS, *WITH_WORDS],
)
def test_an_answer_is_over_at_done_if_no_words_follow_its_counts(behind: Json, added: list[Json]) -> None:
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"choices": [], "usage": {"completion_tokens": 1}},
        {"choices": [{"index": 0, "delta": behind}]},
    ]
    assert read(*map(line, chunks), b"data: [DONE]\n\n") == ([*chunks, *added], "")


@pytest.mark.parametrize("behind", WITHOUT_WORDS.values(), ids=WITHOUT_WORDS)
def test_an_error_beside_no_words_comes_alone_at_the_beginning_of_an_answer(behind: Json) -> None:
    """It can then be told by its status. Later on it takes away nothing that came with it."""
    error = {"message": "no"}
    first = {"choices": [{"index": 0, "delta": behind}], "error": error}
    hello = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    assert read(line(first)) == ([{"error": error}], "")
    assert read(line(hello), line(first)) == ([hello, {"choices": first["choices"]}, {"error": error}], "")


LONG = b"a" * 100_000
SEVERAL_LINES = {
    "a long line, then short ones": (b'data: {"a":"' + LONG + b"\n" + b"data: x\n" * 900 + b"\n", NOT_JSON),
    "long lines": ((b'data: ["' + b"a" * 3000 + b'",\n') * 900 + b"\n", NOT_JSON),
    "short lines": (b"data: [1,\n" * 900 + b"\n", NOT_JSON),
    "white space": (b"data: " + b" " * 3000 + b"\n" + b'data: {"a":\n' + b"data: \n" * 900 + b"data: 1}\n\n", ""),
    "long JSON": (b'data: {"a":"' + LONG + b'",\n' + b"data: \n" * 900 + b'data: "b":1}\n\n', ""),
    "long JSON without the empty line at the end": (b'data: {"a":"' + LONG + b'",\ndata: "b":1}', ""),
}


@pytest.mark.parametrize("name", SEVERAL_LINES)
def test_a_chunk_of_several_lines_is_decoded_in_linear_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, why = SEVERAL_LINES[name]
    decoded = 0

    def decode(result: bytes) -> Any:
        nonlocal decoded
        decoded += len(result)
        return msgspec.json.decode(result)

    monkeypatch.setattr(chat_lines, "_decode", decode)
    chunks, result = read(body)
    assert (len(chunks), result) == (0 if why else 1, why)
    assert decoded <= 6 * len(body) + 65536


@pytest.mark.parametrize(
    ("body", "size"),
    [(b"x\n" * 60_000, 8192), (b'data: "' + b"x" * 40_000, 2)],
    ids=["lines outside of the stream", "a line that comes in pieces of two bytes"],
)
def test_what_is_kept_of_an_answer_takes_no_more_memory_than_it_is_long(body: bytes, size: int) -> None:
    """However short the lines or the pieces are: an object for each would take twenty times as much."""

    def kept(given: bytes) -> ChatLines:
        lines = ChatLines()
        for start in range(0, len(given), size):
            assert list(lines.read(given[start : start + size])) == []
        return lines

    assert_lean("kept", body, kept, per_byte=2)


TEXTS = st.text(alphabet=st.characters(blacklist_categories=["Cs"]) | st.sampled_from('\u2028\u0085\r\n[DONE]:"\\'))


@given(
    st.lists(TEXTS),
    st.lists(st.integers(min_value=0)),
    st.sampled_from(["\n\n", "\r\n\r\n", "\n", "\r\r"]),
    st.booleans(),
)
def test_chunks_are_the_same_wherever_the_bytes_are_cut(
    texts: list[str],
    cuts: list[int],
    end: str,
    escaped: bool,  # noqa: FBT001 — Hypothesis gives it by its place
) -> None:
    chunks = [{"content": text} for text in texts]
    result = [json.dumps(chunk, ensure_ascii=escaped) for chunk in chunks]
    body = "".join([f"data: {line}{end}" for line in result]).encode() + b"data: [DONE]\n\n"
    places = [0, *sorted(cut % len(body) for cut in cuts), len(body)]
    assert read(*[body[a:b] for a, b in pairwise(places)]) == (chunks, "")
