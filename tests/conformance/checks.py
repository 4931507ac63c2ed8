"""What the scripted model is asked in a cell, and what is wrong with it."""

import json
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tests.conformance import lines
from tests.conformance.bodies import Body, Read, chat_body
from tests.wire.servers import Ask


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


def check_parallel(asked: Asked, tools: Tools) -> list[str]:
    first, second = (tools.weather(city) for city in lines.CITIES)
    return _offers(asked, 0, first.name) + _gave_back(asked, 1, {"call_a": first, "call_b": second})


def check_thinks(asked: Asked, _tools: Tools) -> list[str]:
    numbers = [number for number in range(len(asked.asks)) if not asked.body(number).thinks]
    return [f"the asks {numbers} do not say that the model is to think"] if numbers else []


def check_thoughts(asked: Asked, tools: Tools) -> list[str]:
    first, second = (tools.weather(city) for city in lines.CITIES)
    made = _gave_back(asked, 2, {"call_1": first, "call_2": second})
    found = [asked.body(number).thoughts for number in range(3)]
    wanted = [[], [(lines.THOUGHT, "call_1")], [(lines.THOUGHT, "call_1"), (lines.AGAIN, "call_2")]]
    return check_thinks(asked, tools) + made + ([] if found == wanted else [f"the asks hold other thoughts: {found}"])


def check_custom(asked: Asked, tools: Tools) -> list[str]:
    return _offers(asked, 0, tools.custom.name) + _gave_back(asked, 1, {"call_1": tools.custom})


def check_namespace(asked: Asked, tools: Tools) -> list[str]:
    call = tools.namespaced(lines.CITIES[0])
    return _offers(asked, 0, call.name) + _gave_back(asked, 1, {"call_1": call})


def check_search(asked: Asked, tools: Tools) -> list[str]:
    found = tools.found(lines.CITIES[0])
    early = [f"ask 0 offers {found.name} before it was found"] if found.name in asked.body(0).tools else []
    offers = _offers(asked, 0, tools.search.name) + _offers(asked, 1, found.name)
    return early + offers + _gave_back(asked, 2, {"call_1": tools.search, "call_2": found})


def check_schema(asked: Asked, _tools: Tools) -> list[str]:
    result = asked.body(0).schema
    if result is None:
        return ["the ask holds no schema"]
    schema = {key: result.get(key) for key in ("type", "required")}
    wanted = {key: lines.SCHEMA[key] for key in schema}
    return [] if schema == wanted else [f"the ask holds another schema: {schema}"]


def check_picture(asked: Asked, _tools: Tools, number: int = 0) -> list[str]:
    found = asked.body(number).pictures
    return [] if found == [lines.PICTURE] else [f"ask {number} holds other pictures: {[url[:60] for url in found]}"]


def check_picture_back(asked: Asked, tools: Tools) -> list[str]:
    return check_picture(asked, tools, 1) + _gave_back(asked, 1, {"call_1": tools.picture})


WAIT: Final = 2
"""Seconds that the upstream tells in Retry-After."""


def check_wait(asked: Asked, _tools: Tools) -> list[str]:
    waited = asked.times[1] - asked.times[0]
    return [] if waited >= WAIT else [f"the client came back after {waited:.1f} s, before it was told to"]
