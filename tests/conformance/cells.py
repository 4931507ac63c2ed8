"""The behaviours: what the scripted model does, what a client must have at the end, and what its asks must hold.

An expectation is a whole object, compared for equality; `Holds("…")` in it is any text with these words in it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.conformance import lines
from tests.conformance.bodies import Body, Read, chat_body
from tests.support.script import breaks, call_turn, calls, more, opens, refuses, says, stops, text_turn, thinks, turn
from tests.support.servers import Ask, Cut, Pause, Script, Status

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


class Call(NamedTuple):
    """A call as the upstream makes it, and words of what the tool gives back."""

    name: str
    arguments: str
    gives: str


def _weather(city: str) -> Call:
    return Call(lines.WEATHER, json.dumps({"city": city}), lines.degrees(city))


def _namespaced(city: str) -> Call:
    return Call(f"{lines.NAMESPACE}__{lines.LOOK_UP}", json.dumps({"city": city}), lines.degrees(city))


class Tools(NamedTuple):
    """How a client's tools are called upstream."""

    weather: Callable[[str], Call] = _weather
    custom: Call = Call(lines.RUN, json.dumps({"input": lines.CODE}, ensure_ascii=False), lines.RAN)
    namespaced: Callable[[str], Call] = _namespaced
    search: Call = Call("tool_search", json.dumps({"query": lines.SEARCH}), "")
    found: Callable[[str], Call] = _weather
    """A tool that the search finds."""
    picture: Call = Call("take_picture", "{}", "")
    """A tool that gives a picture."""
    interleaved: bool = True
    """Whether the arguments of two calls arrive by turns."""


class Asked(NamedTuple):
    """What a model was asked in a cell, and when."""

    asks: Sequence[Ask]
    times: Sequence[float]
    read: Read = chat_body
    """Reads the body of an ask."""

    def body(self, number: int) -> Body:
        """What one ask holds."""
        return self.read(self.asks[number].body)


Check = Callable[[Asked, Tools], list[str]]
"""What is wrong with the asks."""


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


def _gave_back(asked: Asked, number: int, made: dict[str, Call]) -> list[str]:
    """Whether an ask's history ends with these calls, to the letter, and with what their tools gave."""
    found: list[str] = []
    body = asked.body(number)
    for call_id, call in made.items():
        content = body.calls.get(call_id)
        if content is None or content.name != call.name:
            found.append(f"ask {number} does not hold the call {call_id} of {call.name}: {content}")
        elif content.arguments != json.loads(call.arguments):
            found.append(f"ask {number} holds other arguments of {call_id}: {content.arguments}")
        if call.gives not in body.outputs.get(call_id, ""):
            found.append(f"ask {number} does not hold what {call_id} gave: {body.outputs.get(call_id)!r}")
    return found


def _offers(asked: Asked, number: int, *names: str) -> list[str]:
    return [f"ask {number} does not offer {name}" for name in names if name not in asked.body(number).tools]


def _check_parallel(asked: Asked, tools: Tools) -> list[str]:
    first, second = (tools.weather(city) for city in lines.CITIES)
    return _offers(asked, 0, first.name) + _gave_back(asked, 1, {"call_a": first, "call_b": second})


def _check_custom(asked: Asked, tools: Tools) -> list[str]:
    return _offers(asked, 0, tools.custom.name) + _gave_back(asked, 1, {"call_1": tools.custom})


def _check_namespace(asked: Asked, tools: Tools) -> list[str]:
    call = tools.namespaced(lines.CITIES[0])
    return _offers(asked, 0, call.name) + _gave_back(asked, 1, {"call_1": call})


def _check_search(asked: Asked, tools: Tools) -> list[str]:
    found = tools.found(lines.CITIES[0])
    early = [f"ask 0 offers {found.name} before it was found"] if found.name in asked.body(0).tools else []
    offers = _offers(asked, 0, tools.search.name) + _offers(asked, 1, found.name)
    return early + offers + _gave_back(asked, 2, {"call_1": tools.search, "call_2": found})


def _check_schema(asked: Asked, _tools: Tools) -> list[str]:
    result = asked.body(0).schema
    if result is None:
        return ["the ask holds no schema"]
    schema = {key: result.get(key) for key in ("type", "required")}
    wanted = {key: lines.SCHEMA[key] for key in schema}
    return [] if schema == wanted else [f"the ask holds another schema: {schema}"]


def _check_picture(asked: Asked, _tools: Tools, number: int = 0) -> list[str]:
    found = asked.body(number).pictures
    return [] if found == [lines.PICTURE] else [f"ask {number} holds other pictures: {[url[:60] for url in found]}"]


def _check_picture_back(asked: Asked, tools: Tools) -> list[str]:
    return _check_picture(asked, tools, 1) + _gave_back(asked, 1, {"call_1": tools.picture})


WAIT: Final = 2
"""Seconds that the upstream tells in Retry-After."""


def _check_wait(asked: Asked, _tools: Tools) -> list[str]:
    waited = asked.times[1] - asked.times[0]
    return [] if waited >= WAIT else [f"the client came back after {waited:.1f} s, before it was told to"]


SILENCE: Final = 60
FAILED: Final = "500: Boom"
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
    ),
    "parallel": Cell(
        "parallel calls", _parallel, {"calls": list(lines.CITIES), "text": lines.TEXT}, _check_parallel, asks=2
    ),
    "custom": Cell(
        "custom tool",
        lambda tools: [_one_call(tools.custom), text_turn(lines.TEXT)],
        {"input": lines.CODE, "text": lines.TEXT},
        _check_custom,
        asks=2,
    ),
    "namespace": Cell(
        "namespace tool",
        lambda tools: [_one_call(tools.namespaced(lines.CITIES[0])), text_turn(lines.TEXT)],
        {"calls": [lines.CITIES[0]], "text": lines.TEXT},
        _check_namespace,
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
        _check_search,
        asks=3,
    ),
    "schema": Cell(
        "structured output",
        lambda _: [text_turn(*_piecewise(json.dumps(lines.FOUND)))],
        {"parsed": lines.FOUND},
        _check_schema,
    ),
    "picture": Cell("images", lambda _: [text_turn(lines.TEXT)], {"text": lines.TEXT}, _check_picture),
    "picture_back": Cell(
        "image in tool output",
        lambda tools: [_one_call(tools.picture), text_turn(lines.TEXT)],
        {"text": lines.TEXT},
        _check_picture_back,
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
        _check_wait,
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
        asks=None,  # opencode asks the same model for a title
    ),
}


def faults(cell: Cell, value: Outcome, expected: Outcome, asked: Asked, tools: Tools) -> list[str]:
    """What is wrong with a cell."""
    found = [] if expected == value else [f"the client has {value!r}, not {expected!r}"]
    if cell.asks is not None and len(asked.asks) != cell.asks:
        return [*found, f"the upstream was asked {len(asked.asks)} times, not {cell.asks}"]
    return found + cell.check(asked, tools)
