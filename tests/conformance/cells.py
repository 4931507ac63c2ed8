"""The behaviours: what the scripted model does, what a client must have at the end, and what its asks must hold.

An expectation is a whole object, compared for equality; `Holds("…")` in it is any text with these words in it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.conformance import lines
from tests.conformance.checks import (
    WAIT,
    Asked,
    Call,
    Check,
    Tools,
    check_custom,
    check_namespace,
    check_parallel,
    check_picture,
    check_picture_back,
    check_schema,
    check_search,
    check_thinks,
    check_thoughts,
    check_wait,
)
from tests.wire.script import breaks, call_turn, calls, more, opens, refuses, says, stops, text_turn, thinks, turn
from tests.wire.servers import Cut, Pause, Script, Status

Outcome = dict[str, Any]
"""What a client has in its hands at the end."""


class Holds(str):
    """Any text that holds these words."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Whether the words are in it."""
        return isinstance(other, str) and str(self) in other

    def __hash__(self) -> int:
        """As the words'."""
        return str.__hash__(self)


@dataclass(frozen=True)
class Cell:
    """A behaviour."""

    title: str
    play: Callable[[Tools], list[Script]]
    told: Outcome
    check: Check = field(default=lambda _asked, _tools: [])
    asks: int | None = 1
    """How often the upstream is asked; None where a client may try again."""


def _piecewise(text: str) -> list[str]:
    """In pieces of three characters, so that escapes are cut anywhere."""
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def _one_call(call: Call, call_id: str = "call_1") -> Script:
    return call_turn(call.name, *_piecewise(call.arguments), id=call_id)


def _parallel(tools: Tools) -> list[Script]:
    first, second = (tools.weather(city) for city in lines.CITIES)
    middle = len(first.arguments) // 2
    opened = calls(1, second.name, id="call_b")
    start, rest = more(0, first.arguments[:middle]), more(0, first.arguments[middle:])
    items = [opened, start, more(1, second.arguments), rest]
    if not tools.interleaved:
        items = [start, rest, opened, more(1, second.arguments)]
    both = turn(calls(0, first.name, id="call_a"), *items, reason="tool_calls")
    return [both, text_turn(lines.TEXT)]


def _thoughts(tools: Tools) -> list[Script]:
    first, second = (tools.weather(city) for city in lines.CITIES)
    thought, again = (map(thinks, _piecewise(text)) for text in (lines.THOUGHT, lines.AGAIN))
    return [
        turn(*thought, calls(0, first.name, id="call_1", arguments=first.arguments), reason="tool_calls"),
        turn(*again, calls(0, second.name, id="call_2", arguments=second.arguments), reason="tool_calls"),
        text_turn(lines.TEXT),
    ]


SILENCE: Final = 60
FAILED: Final = "Boom"
CUT_OFF: Final = "The connection to the upstream broke off"
"""What a user reads when the model's server has failed, or was cut off."""
_BROKEN: Final = {"error": {"message": "Boom", "type": "server_error", "param": None, "code": None}}
_SLOW_DOWN: Final = {"error": {"message": "Slow down.", "type": "rate_limit", "param": None, "code": None}}

CELLS: Final[dict[str, Cell]] = {
    "text": Cell("text", lambda _: [text_turn(*_piecewise(lines.TEXT))], {"text": lines.TEXT}),
    "reasoning": Cell(
        "reasoning",
        lambda _: [turn(*map(thinks, _piecewise(lines.THOUGHT)), says(lines.TEXT))],
        {"reasoning": lines.THOUGHT, "text": lines.TEXT},
        check_thinks,
    ),
    "parallel": Cell(
        "parallel calls", _parallel, {"calls": list(lines.CITIES), "text": lines.TEXT}, check_parallel, asks=2
    ),
    "thoughts": Cell(
        "reasoning between calls",
        _thoughts,
        {"calls": list(lines.CITIES), "text": lines.TEXT},
        check_thoughts,
        asks=3,
    ),
    "custom": Cell(
        "custom tool",
        lambda tools: [_one_call(tools.custom), text_turn(lines.TEXT)],
        {"input": lines.CODE, "text": lines.TEXT},
        check_custom,
        asks=2,
    ),
    "namespace": Cell(
        "namespace tool",
        lambda tools: [_one_call(tools.namespaced(lines.CITIES[0])), text_turn(lines.TEXT)],
        {"calls": [lines.CITIES[0]], "text": lines.TEXT},
        check_namespace,
        asks=2,
    ),
    "search": Cell(
        "tool_search",
        lambda tools: [
            _one_call(tools.search),
            _one_call(tools.found(lines.CITIES[0]), "call_2"),
            text_turn(lines.TEXT),
        ],
        {"query": lines.SEARCH, "calls": [lines.CITIES[0]], "text": lines.TEXT},
        check_search,
        asks=3,
    ),
    "schema": Cell(
        "structured output",
        lambda _: [text_turn(*_piecewise(json.dumps(lines.FOUND)))],
        {"parsed": lines.FOUND},
        check_schema,
    ),
    "picture": Cell("images", lambda _: [text_turn(lines.TEXT)], {"text": lines.TEXT}, check_picture),
    "picture_back": Cell(
        "image in tool output",
        lambda tools: [_one_call(tools.picture), text_turn(lines.TEXT)],
        {"text": lines.TEXT},
        check_picture_back,
        asks=2,
    ),
    "refusal": Cell("refusal", lambda _: [turn(*map(refuses, _piecewise(lines.REFUSAL)))], {"refusal": lines.REFUSAL}),
    "incomplete": Cell(
        "incomplete",
        lambda _: [turn(says(lines.PARTIAL), reason="length")],
        {"text": lines.PARTIAL, "ended": Holds("max_output_tokens")},
    ),
    "failed_before": Cell(
        "failed before the stream",
        lambda _: [[Status(500, _BROKEN)]],
        {"error": Holds(FAILED), "code": "upstream_error"},
        asks=None,
    ),
    "failed_in": Cell(
        "failed in mid-stream",
        lambda _: [[opens(), says(lines.PARTIAL), Pause(0.3), breaks("Boom")]],
        {"text": lines.PARTIAL, "error": Holds(FAILED), "code": "server_error"},
        asks=None,
    ),
    "wait": Cell(
        "429 with Retry-After",
        lambda _: [[Status(429, _SLOW_DOWN, {"retry-after": str(WAIT)})], text_turn(lines.TEXT)],
        {"text": lines.TEXT},
        check_wait,
        asks=2,
    ),
    "cut": Cell(
        "cut upstream",
        lambda _: [[opens(), says(lines.PARTIAL), Pause(0.3), Cut()]],
        {"text": lines.PARTIAL, "error": Holds(CUT_OFF), "code": "server_error"},
        asks=None,
    ),
    "silence": Cell(
        "60 s of silence",
        lambda _: [[opens(), says(lines.TEXT[:5]), Pause(SILENCE), says(lines.TEXT[5:]), stops()]],
        {"text": lines.TEXT},
    ),
    "launch": Cell(
        "am-proxy launch",
        lambda _: [text_turn(*_piecewise(lines.TEXT))],
        {"text": lines.TEXT},
        lambda asked, _: [] if any(asked.body(n).tools for n in range(len(asked.asks))) else ["no ask offers tools"],
    ),
}


def faults(cell: Cell, value: Outcome, asked: Asked, tools: Tools) -> list[str]:
    """What is wrong with a cell."""
    found = [] if cell.told == value else [f"the client has {value!r}, not {cell.told!r}"]
    if cell.asks is not None and len(asked.asks) != cell.asks:
        return [*found, f"the upstream was asked {len(asked.asks)} times, not {cell.asks}"]
    return found + cell.check(asked, tools)
