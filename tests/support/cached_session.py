"""A long session of an agent, to see how much of it is read from a prompt cache."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from tests.support.chat_requests import assistant, call, output, user
from tests.support.messages_blocks import ANYTHING
from tests.wire.servers.prompt_cache import CacheUse

Json = dict[str, Any]

TOOLS: Final = [{"type": "function", "name": name, "parameters": ANYTHING} for name in ("f", "g")]
SHARE: Final = 0.9
"""How much of a prompt is to be read from the cache: from the third turn on, or the sixth if each turn is long."""
SESSIONS: Final = [(1, 3), (3, 3), (30, 6)]
"""Calls in each turn, and the turn from which on that much is read."""


def requests(turns: int, calls_of: int) -> Iterator[Json]:
    """In each turn the model makes this many calls, and their outputs come back."""
    items: list[Json] = [user("Repair the tests. " * 50)]
    for turn in range(turns):
        yield {"instructions": "You are an agent. " * 2000, "tools": TOOLS, "input": items}
        names = [f"c{turn}_{number}" for number in range(calls_of)]
        items = [*items, assistant(f"Step {turn}."), *[call(name, arguments='{"path": "a.py"}') for name in names]]
        items += [output(name, f"line {turn}\n" * (250 // calls_of)) for name in names]


def check_uses(uses: Sequence[CacheUse], turn: int) -> None:
    """Each turn writes what is new and reads the rest, also if a turn has more blocks than the server looks back."""
    assert uses[0].read == 0
    for before, use in pairwise(uses):
        assert use.read == before.read + before.written
        assert use.other == 0
    assert min(use.share for use in uses[turn - 1 :]) >= SHARE
