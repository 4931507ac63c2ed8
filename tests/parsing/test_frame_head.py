"""What is read of a frame of a websocket when it arrives: its type and its lane, at no cost for what else is in it."""

import tracemalloc

import pytest

from app.parsing.frame_head import FrameHead, read_head
from app.protocol.problems import ProblemError

MANY = 300_000
ESCAPED = r"\u0061"


@pytest.mark.parametrize(
    ("data", "head"),
    [
        ('{"type":"response.create"}', FrameHead("response.create", None)),
        ('{"type":"response.create","stream_id":null}', FrameHead("response.create", None)),
        ('{"type":"response.create","stream_id":"a-b_c.1"}', FrameHead("response.create", "a-b_c.1")),
        (r'{"type":"response.\u0063reate","stream_id":"\u0061"}', FrameHead("response.create", "a")),
        (f'{{"type":"response.create","stream_id":"{"a" * 256}"}}', FrameHead("response.create", "a" * 256)),
        (f'{{"type":"response.create","stream_id":"{ESCAPED * 256}"}}', FrameHead("response.create", "a" * 256)),
        ('{"type":"response.cancel","stream_id":7}', FrameHead("response.cancel", None)),
    ],
)
def test_a_head(data: str, head: FrameHead) -> None:
    assert read_head(data.encode()) == head


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (f'{{"type":[{"7," * MANY}7]}}', "invalid_value"),
        (f'{{"type":"{"x" * MANY}"}}', "invalid_value"),
        (f'{{"type":"response.create","stream_id":[{"7," * MANY}7]}}', "invalid_stream_id"),
        (f'{{"type":"response.create","stream_id":"{"x" * MANY}"}}', "invalid_stream_id"),
    ],
)
def test_nothing_is_made_of_what_is_too_long(data: str, code: str) -> None:
    frame = data.encode()
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError) as caught:
            read_head(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.problem.code == code
    assert peak < 100_000
