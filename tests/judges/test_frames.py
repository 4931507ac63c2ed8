"""The bytes of a stream, however they are cut, give the same events."""

import time

import pytest

from tests.judges import Frames

A, B = {"type": "a", "text": "é\n"}, {"type": "b"}
BODY = (
    ': hello\n\nevent: a\ndata: {"type": "a",\ndata: "text": "é\\n"}\n\nid: 7\ndata:{"type": "b"}\n\ndata: [DONE]\n\n'
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_events_do_not_depend_on_how_the_bytes_are_cut(end: str, size: int) -> None:
    body = BODY.replace("\n", end).encode()
    frames = Frames("Text/Event-Stream; charset=utf-8")
    events = [event for at in range(0, len(body), size) for event in frames.feed(body[at : at + size])]
    assert events + frames.end() == [A, B]
    assert frames.found.found == []


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (b'data: {"type": "a"}\n', "frame-end"),
        (b'data: {"type": "a"}', "frame-end"),
        (b"data: x\n\n", "event-json"),
        (b'data: "x"\n\n', "event-json"),
        (b'data: {"a": 1}\n\n', "event-json"),
        (b'event: b\ndata: {"type": "a"}\n\n', "event-name"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "event-json"),
    ],
)
def test_what_is_wrong_with_the_bytes_is_named(body: bytes, rule: str) -> None:
    frames = Frames()
    frames.feed(body)
    frames.end()
    assert [finding.rule.name for finding in frames.found.found] == [rule]


def test_the_content_type_is_judged() -> None:
    assert [finding.rule.name for finding in Frames("text/plain").found.found] == ["content-type"]


def test_a_long_line_in_many_pieces_is_read_in_time() -> None:
    frames = Frames()
    begun = time.process_time()
    pieces = [b'data: {"type": "a", "text": "', *[b"x" * 1024] * 4096, b'"}\n\n']
    [event] = [event for piece in pieces for event in frames.feed(piece)]
    assert len(event["text"]) == 4 * 1024 * 1024
    assert time.process_time() - begun < 2
