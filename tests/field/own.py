"""AM Proxy in front of scripted servers, over each API by which it asks them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from tests.conformance.lanes import LANES, Lane
from tests.conformance.scripted_model import scripted_models
from tests.field.asking import Address
from tests.support.event_scripts import as_events
from tests.support.running import running
from tests.wire.script import call_turn, counts, opens, says, stops, text_turn
from tests.wire.servers import Ask, Pause, Script, Step


def _with_own_ids(script: Script) -> Script:
    """The events of a Responses server, each answer with an id of its own, as real ones give them."""
    events = as_events(script)
    numbers = count(1)

    def numbered(ask: Ask) -> list[Step]:
        steps = events(ask)
        own = {"id": f"resp_{next(numbers):024}"}
        return [
            {**step, "response": step["response"] | own} if isinstance(step, dict) and "response" in step else step
            for step in steps
        ]

    return numbered


OWN: Final[dict[str, Lane]] = {
    "chat": replace(LANES["litellm"], via="chat"),
    **LANES,
    "responses": replace(LANES["responses"], translate=_with_own_ids),
}
"""The lanes of the tests with real clients, and the one without litellm."""

_OUTPUTS: Final = (b'"tool_call_id"', b'"tool_result"', b'"function_call_output"')
"""What is in a request with the output of a tool, in each API."""

_LIMITS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_WORDS: Final = 200
"""Of an answer that no limit cuts."""
_CALLS: Final = {
    "get_weather": ("get_weather", '{"location": ', '"San Francisco"}'),
    "say": ("say", '{"input": ', '"Good morning."}'),
}
"""Of the tools of the questions."""


def script(ask: Ask) -> Sequence[Step]:
    """A model that calls the tool it is offered, then says what it has learnt, and counts slowly if it is asked to."""
    if b"from 1 to 500" in ask.raw:
        limit = min(next((ask.body[key] for key in _LIMITS if key in ask.body), _WORDS), _WORDS)
        words = [each for _ in range(limit) for each in (says("one "), Pause(0.01))]
        return [opens(), *words, stops("stop" if limit == _WORDS else "length"), counts(7, limit)]
    if ask.body.get("tools") and not any(word in ask.raw for word in _OUTPUTS):
        tool = ask.body["tools"][0]
        return call_turn(*_CALLS[tool.get("function", tool)["name"]])
    return text_turn("Hello", " from", " here.")


class RefusedError(Exception):
    """The scripted server was asked what a real one refuses. The text says what."""


@contextmanager
def own_lane(name: str) -> Iterator[Address]:
    """AM Proxy over one lane."""
    lane = OWN[name]
    model = lane.model("field", "comply")
    with scripted_models(lane) as scripted:
        scripted.set_scripts(model, [script])
        yield Address(f"{scripted.url}/v1", model)
    if refused := scripted.upstream.refused[model]:
        raise RefusedError("; ".join(refused))


@contextmanager
def demo(folder: Path) -> Iterator[Address]:
    """The embedded model, which a server without configuration has."""
    with running(folder=folder) as server:
        yield Address(server.url, "demo", how="am-proxy serve", folder=folder)
