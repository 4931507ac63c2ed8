"""What it costs to turn the calls of an answer into those of the client's tools grows as the answer does."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from tests.support.bridge_cases import CUSTOM
from tests.support.relay_turns import Json, on_functions
from tests.support.scan import assert_linear
from tests.wire.servers.responses import answer, call

SHELL: Final = {"type": "shell"}


def tiny_pieces(name: str, count: int) -> list[Json]:
    """One call of that many characters, one by one."""
    return answer(call("fc_1", "call_1", name, *json.dumps({"input": "x" * count, "commands": ["x" * count]})))


def calls(name: str, count: int) -> list[Json]:
    """Many calls."""
    arguments = '{"input":"a","commands":["a"]}'
    return answer(*[call(f"fc_{number}", f"call_{number}", name, arguments) for number in range(count)])


def without_ends(name: str, count: int) -> list[Json]:
    """Many calls of which the server ends none, so that the final response alone has them."""
    events = calls(name, count)
    return [event for event in events if event["type"] != "response.output_item.done"]


def relayed(events: list[Json]) -> None:
    turn: Any = on_functions(CUSTOM, SHELL)
    turn.begin()
    for event in json.loads(json.dumps(events)):
        if not turn.over:
            turn.receive(event)
    assert turn.over


@pytest.mark.parametrize("name", ["patch", "shell"])
@pytest.mark.parametrize(("shape", "count"), [(tiny_pieces, 2_000), (calls, 100), (without_ends, 100)])
def test_the_time_is_linear(shape: Callable[[str, int], list[Json]], count: int, name: str) -> None:
    assert_linear(f"{shape.__name__} of {name}", partial(shape, name), relayed, count)
