"""The cost of an answer grows linearly with its deltas or events, whatever an upstream leaves open."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.emitter.deltas import CallArguments, CallOpened, Delta, ImageWritten, ReasoningDelta, Stopped, TextDelta
from tests.support.emitters import new_emitter
from tests.support.relay_turns import new_turn
from tests.support.scan import assert_linear
from tests.wire.servers.responses import begins, call, ends, items, message

Json = dict[str, Any]


def calls_left_open(count: int) -> list[Delta]:
    """Calls whose arguments never become whole."""
    return [delta for key in range(count) for delta in (CallOpened(key, "f"), CallArguments(key, "{"))]


def calls_that_become_whole_together(count: int) -> list[Delta]:
    """Calls that stay open until the arguments of all of them end."""
    return [*calls_left_open(count), *[CallArguments(key, "}") for key in range(count)]]


def text_beside_an_open_call(count: int) -> list[Delta]:
    """Items of all kinds, while a call is open."""
    items: list[Delta] = [TextDelta("a"), ReasoningDelta("b"), ImageWritten("aGk=")]
    return [CallOpened(0, "f"), *items * count]


def white_space(count: int) -> list[Delta]:
    """White space that waits for text and for reasoning."""
    pieces: list[Delta] = [TextDelta(" "), ReasoningDelta(" ")]
    return pieces * count


@pytest.mark.parametrize("reason", ["end", "length", None])
@pytest.mark.parametrize(
    "shape", [calls_left_open, calls_that_become_whole_together, text_beside_an_open_call, white_space]
)
def test_an_emitted_answer_takes_linear_time(shape: Callable[[int], list[Delta]], reason: Any) -> None:
    def emit(deltas: list[Delta]) -> None:
        emitter = new_emitter()
        emitter.begin()
        for delta in deltas:
            emitter.feed([delta])
        emitter.feed([Stopped(reason)] if reason else [])
        emitter.end()

    assert_linear(f"{shape.__name__} {reason}", shape, emit, 400)


def never_done(count: int) -> list[Json]:
    """Messages and calls that the upstream begins and never ends."""
    history = [
        message(f"msg_{at}", "Hi") if at % 2 else call(f"fc_{at}", f"call_{at}", "f", "{}") for at in range(count)
    ]
    return [event for event in items(*history) if not event["type"].endswith(".done")]


def cut_calls(count: int) -> list[Json]:
    """Calls of functions whose arguments are not whole."""
    return items(*[call(f"fc_{at}", f"call_{at}", "f", "{") for at in range(count)])


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed"])
@pytest.mark.parametrize("shape", [never_done, cut_calls])
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_relayed_answer_takes_linear_time(shape: Callable[[int], list[Json]], status: str, choice: str) -> None:
    def relay(texts: list[str]) -> None:
        turn = new_turn(body={"tool_choice": choice})
        turn.begin()
        for text in texts:
            if not turn.over:
                turn.receive(json.loads(text))

    def events(count: int) -> list[str]:
        return [json.dumps(event) for event in [*begins(), *shape(count), ends(status=status)]]

    assert_linear(f"{shape.__name__} {status} {choice}", events, relay, 200)
