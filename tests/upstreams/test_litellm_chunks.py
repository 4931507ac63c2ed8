"""litellm's objects as plain dicts, and the lines below them, without litellm."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from app.upstreams import chat_lines
from app.upstreams.chat_lines import NotAStreamError
from app.upstreams.litellm_chunks import chunks_of
from app.upstreams.litellm_objects import chunk_dict

Thing = SimpleNamespace


class AsyncStream:
    """An answer of the OpenAI SDK, as far as it is looked at."""

    def __init__(self, *pieces: bytes) -> None:
        self.response = self
        self.pieces = pieces

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


AsyncStream.__module__ = "openai"


async def read(*pieces: bytes) -> list[dict[str, Any]]:
    return [chunk async for chunk in chunks_of(Thing(completion_stream=AsyncStream(*pieces)))]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], []),
        ([b"\n\n", b": ping\n\n"], []),
        ([b'data: {"a":1}\n', b'data:{"a":2}\r\n\r\ndata: {"a"', b":3}"], [{"a": 1}, {"a": 2}, {"a": 3}]),
        ([b"event: x\nid: 1\nretry: 5\ndata:\ndata: {}\n"], [{}]),
        ([b"data: {}\n", b"not of the stream\n"], [{}]),
        ([b"data: {}\ndata: [DONE]\ndata: {}\n"], [{}]),
        ([b'{"error":\n', b' "no"}'], [{"error": "no"}]),
    ],
)
async def test_lines_are_read_however_they_are_cut(pieces: list[bytes], expected: list[dict[str, Any]]) -> None:
    assert await read(*pieces) == expected


async def test_a_line_without_end_is_not_kept_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_lines, "LONGEST", 10)
    with pytest.raises(NotAStreamError, match="too long"):
        await read(b"data: 345678", b"9", b"10")


@pytest.mark.parametrize("body", [b"data: \xff\xfe\n", b"data: {\n", b"data: 1\n", b"<html>", b'{"choices":[]}', b"1"])
async def test_what_is_no_stream_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(NotAStreamError):
        await read(body)


def test_a_chunk_has_only_the_fields_that_are_there() -> None:
    call = Thing(index=None, id=None, function=Thing(name=None, arguments=None))
    delta = Thing(content="", refusal=None, tool_calls=[call])
    assert chunk_dict(Thing(choices=[Thing(index=None, delta=delta, finish_reason=None)])) == {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"function": {}}]}}]
    }


def test_a_chunk_keeps_every_field_that_is_there() -> None:
    logprobs = Thing(model_dump=lambda **_: {"content": []})
    fields = {"thought_signature": "x"}
    call = Thing(index=1, id="c1", function=Thing(name="f", arguments="{}"), provider_specific_fields=fields)
    content = {
        "content": "a",
        "refusal": "b",
        "reasoning_content": "c",
        "annotations": [{"type": "url_citation"}],
        "thinking_blocks": [{"type": "thinking"}],
        "provider_specific_fields": {"citation": {}},
    }
    delta = Thing(**content, tool_calls=[call])
    usage = Thing(prompt_tokens=1, completion_tokens=2, total_tokens=3, cache_read_input_tokens=4)
    chunk = Thing(choices=[Thing(index=2, delta=delta, finish_reason="stop", logprobs=logprobs)], usage=usage)
    sent_call = {
        "index": 1,
        "id": "c1",
        "function": {"name": "f", "arguments": "{}"},
        "provider_specific_fields": fields,
    }
    assert chunk_dict(chunk) == {
        "choices": [
            {
                "index": 2,
                "delta": content | {"tool_calls": [sent_call]},
                "finish_reason": "stop",
                "logprobs": {"content": []},
            }
        ],
        "usage": {
            "prompt_tokens": 1,
            "completion_tokens": 2,
            "total_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }
