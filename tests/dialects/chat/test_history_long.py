"""Long histories: the work grows with their length, not with its square. One request must not hold up the others."""

import gc
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity

IDENTITY = Identity("resp_AM-1", 1)

Items = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Its passes take as long as the heap of the whole test run is large."""
    gc.disable()
    yield
    gc.enable()


def calls(count: int, call_id: str) -> Items:
    return [
        {"type": "function_call", "call_id": call_id.format(n), "name": "f", "arguments": f'{{"n":{n}}}'}
        for n in range(count)
    ]


def outputs(count: int, call_id: str) -> Items:
    return [
        {"type": "function_call_output", "call_id": call_id.format(n), "output": f"output {n}"} for n in range(count)
    ]


def seconds(items: Items) -> float:
    request = parse_request(json.dumps({"model": "m", "input": items}).encode())
    began = time.process_time()
    ChatTurn(
        request,
        model="m",
        options=ChatOptions(),
        identity=Identity("resp_AM-1", 1),
        new_id=lambda prefix: f"{prefix}_AM-1",
        now=lambda: 1,
    )
    return time.process_time() - began


@pytest.mark.parametrize("call_id", ["call_{}", "always_the_same", ""])
@pytest.mark.parametrize("calls_first", [True, False])
def test_four_times_the_calls_take_about_four_times_as_long(call_id: str, *, calls_first: bool) -> None:
    """A square would be sixteen times; the least of some tries is what the machine's other work leaves alone."""

    def least(count: int) -> float:
        parts = [calls(count, call_id), outputs(count, call_id)]
        items = sum(parts if calls_first else parts[::-1], start=Items())
        return min(seconds(items) for _ in range(3))

    assert least(4000) < 10 * least(1000)
