"""Long arguments: what one fragment costs does not depend on how many came before it."""

import time

import pytest

from app.dialects.chat.decode import ChunkReader
from tests.support.script import calls, more


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
