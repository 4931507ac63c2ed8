"""Server-sent events, wherever their bytes are cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.upstreams.sse_lines import SseEvents, SseLines, TooLongError

BYTES = st.lists(
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", b"data:", b"data: ", b"a", b"\xef\xbb\xbf", "\u2028".encode(), b"\x0b", b":"]
    )
).map(b"".join)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The same bytes in pieces, empty ones among them."""
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def lines_of(*data: bytes) -> list[bytes]:
    """Every line, and what follows the last line end."""
    lines = SseLines()
    return [line for piece in data for line in lines.feed(piece)] + [lines.rest()]


def events_of(*data: bytes) -> list[bytes]:
    events = SseEvents()
    return [event for piece in data for event in events.feed(piece)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", [b""]),
        (b"a", [b"a"]),
        (b"a\nb\r\nc\rd", [b"a", b"b", b"c", b"d"]),
        (b"a\n\n", [b"a", b"", b""]),
        (b"a\r\r\n\n", [b"a", b"", b"", b""]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", [b"a", b"\xef\xbb\xbfb"]),
        (b"\xef\xbb", [b"\xef\xbb"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf".encode(), b""]),
    ],
)
def test_lines_end_where_the_standard_says(data: bytes, lines: list[bytes]) -> None:
    assert lines_of(data) == lines


@given(BYTES, st.lists(st.integers(min_value=0)))
@example(b"a\r\nb", [2])
@example(b"\xef\xbb\xbfa\n", [1, 2])
@example(b"\r\n\r\n", [1, 2, 3])
def test_lines_are_the_same_wherever_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    """And they are what a plain reading of the whole finds."""
    whole = [*re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))]
    assert lines_of(*pieces(data, cuts)) == whole


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"event: x\nid: 1\nretry: 2\ndata: a\n\n", [b"a"]),
        (b": ping\n\ndata: a\n: ping\ndata: b\n\n", [b"a\nb"]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
        (b"data\n\ndatax: a\n\n", []),
        (b"\n\n\ndata: a\r\n\r\ndata: b\r\rdata: c", [b"a", b"b"]),
        (b"data: a\ndata:\n\n", [b"a\n"]),
        (b"data: cut", []),
    ],
)
def test_events_are_read_as_the_standard_says(data: bytes, events: list[bytes]) -> None:
    """Some of these are the standard's own examples."""
    assert events_of(data) == events


@given(BYTES, st.lists(st.integers(min_value=0)))
def test_events_are_the_same_wherever_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    assert events_of(*pieces(data, cuts)) == events_of(data)


def test_a_line_without_end_is_refused() -> None:
    lines = SseLines(longest=10)
    assert lines.feed(b"x" * 10) == []
    with pytest.raises(TooLongError):
        lines.feed(b"x")


def test_an_event_without_end_is_refused() -> None:
    events = SseEvents(longest=10)
    with pytest.raises(TooLongError):
        events.feed(b"data: 12345\n" * 3)


def test_a_line_that_comes_byte_by_byte_costs_no_more_than_its_length() -> None:
    """A million pieces joined again and again would take minutes."""
    lines = SseLines()
    for _ in range(1_000_000):
        lines.feed(b"x")
    assert lines.feed(b"\n") == [b"x" * 1_000_000]


def test_data_lines_without_data_take_memory_too() -> None:
    events = SseEvents(longest=6400)
    assert events.feed(b"data:\n" * 101) == []
    with pytest.raises(TooLongError):
        events.feed(b"data:\n")
