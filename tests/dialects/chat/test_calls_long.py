"""Long arguments: what one fragment costs does not depend on how many came before it."""

import time
from typing import Any

import pytest

from app.dialects.chat.calls import CallReader
from app.dialects.chat.decode import ChunkReader
from app.emitter.deltas import CallArguments
from tests.support.scan import assert_linear
from tests.wire.script import calls, fragment, more


@pytest.mark.parametrize("name", [None, "f"], ids=["the name once", "the name on every fragment, and no id"])
def test_four_times_the_fragments_take_about_four_times_as_long(name: str | None) -> None:
    """A square would be sixteen times; the least of some tries is what the machine's other work leaves alone."""

    def seconds(count: int) -> float:
        reader = ChunkReader()
        reader.read(calls(0, "f", id=None, arguments='{"a":"'))
        fragment = more(0, "x" * 16, name=name)
        began = time.process_time()
        for _ in range(count):
            reader.read(fragment)
        return time.process_time() - began

    def least(count: int) -> float:
        return min(seconds(count) for _ in range(3))

    assert least(8000) < 10 * least(2000)


@pytest.mark.parametrize("begin", ["{", "[", '{"a":' * 1000], ids=["too many", "no object", "still open"])
def test_braces_that_make_no_object_are_looked_at_once(begin: str) -> None:
    """Where the name is on every fragment, each fragment that ends in a brace could be the last one of an object."""
    first, next_one = calls(0, "f", id=None, arguments=begin), more(0, '{"a":"' + "b" * 10_000 + '"}', name="f")

    def read(events: list[dict[str, Any]]) -> None:
        reader = ChunkReader()
        for each in events:
            reader.read(each)

    assert_linear(begin[:5], lambda n: [first, *[next_one] * n], read, 150)


NESTED = r'{"a\\": "}\\\"{", "b\"}": {"c": "\u007d"}, "d": {}}'


@pytest.mark.parametrize("cut", range(1, len(NESTED)))
def test_an_object_is_whole_wherever_it_is_cut(cut: int) -> None:
    """The next fragment of the same name is another call then, and none before."""
    reader = CallReader()
    result = [NESTED[:cut], NESTED[cut:], "{}"]
    deltas = [delta for text in result for delta in reader.read(fragment(0, "", "f", text))]
    arguments: dict[int, str] = {}
    for delta in deltas:
        if isinstance(delta, CallArguments):
            arguments[delta.key] = arguments.get(delta.key, "") + delta.text
    assert arguments == {0: NESTED, 1: "{}"}
