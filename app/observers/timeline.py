"""Where the time of a turn went: its phases, in milliseconds since it began."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from .recorded_ask import AskTimes

PHASES: Final = {
    "admission": "waiting to be admitted",
    "body": "waiting for the client",
    "reading": "reading the request",
    "preparing": "translating the request",
    "ask": "asking",
    "again": "asking in another way",
    "fallback": "fallback",
    "second_ask": "asking once more",
    "going_on": "going on after a pause",
    "retry": "waiting for the next try",
    "connecting": "connecting",
    "waiting": "waiting for first data",
    "streaming": "receiving the answer",
    "stall": "no data",
    "between": "between two requests",
    "ending": "ending the turn",
}
"""The phases, and what they are."""
LEAST: Final = 1.0
"""Milliseconds from which the end, and what is between two requests, are phases."""
_UP_TO: Final = {"admitted": "admission", "body": "body", "read": "reading"}
"""The phases that end with these steps, in their order."""


class Phase(NamedTuple):
    """A part of the time. `ask` is the number of the request to an upstream that it belongs to."""

    phase: str
    ask: int | None
    begin: float
    end: float | None

    @property
    def shown(self) -> dict[str, object]:
        """It as JSON."""
        return {"phase": self.phase, "ask": self.ask, "from": self.begin, "to": self.end, "words": PHASES[self.phase]}


def timeline(steps: Mapping[str, float], asks: Sequence[AskTimes], total: float | None) -> list[Phase]:
    """The phases, in the order in which they begin, wholes before their parts. One that still runs has no end."""
    phases = list(_before(steps, asks[0].started if asks else None, total))
    for number, ask in enumerate(asks, 1):
        phases.append(Phase(ask.kind, number, ask.started, ask.ended))
        phases += _parts(number, ask)
    for before, after in pairwise(asks):
        if before.ended is not None and after.started - before.ended >= LEAST:
            phases.append(Phase("between", None, before.ended, after.started))
    ended = asks[-1].ended if asks else None
    if ended is not None and total is not None and total - ended >= LEAST:
        phases.append(Phase("ending", None, ended, total))
    return sorted(phases, key=lambda phase: phase.begin)


def _before(steps: Mapping[str, float], asked: float | None, total: float | None) -> Iterator[Phase]:
    """What is before the first request to an upstream."""
    begin = 0.0
    running = "admission"
    following = [*_UP_TO.values(), "preparing"][1:]
    for (step, name), then in zip(_UP_TO.items(), following, strict=True):
        if step in steps:
            yield Phase(name, None, begin, steps[step])
            begin, running = steps[step], then
    yield Phase(running if asked is None else "preparing", None, begin, total if asked is None else asked)


def _parts(number: int, ask: AskTimes) -> Iterator[Phase]:
    tries = [step.at for step in ask.steps if step.name == "asking"]
    ends = [step.at for step in ask.steps if step.name == "answered"]
    for before, again in pairwise(tries):
        failed = max([end for end in ends if before <= end <= again], default=None)
        yield Phase("waiting", number, before, failed if failed is not None else again)
        if failed is not None:
            yield Phase("retry", number, failed, again)
    last = tries[-1] if tries else ask.started
    yield Phase("waiting", number, last, ask.ended if ask.first is None else max(ask.first, last))
    if ask.first is not None:
        yield Phase("streaming", number, ask.first, ask.ended)
    connecting: float | None = None
    for step in ask.steps:
        if step.name == "connecting":
            connecting = step.at
        elif step.name != "stall" and connecting is not None:  # it is there, or could not be made
            yield Phase("connecting", number, connecting, step.at)
            connecting = None
        elif step.name == "stall":
            yield Phase("stall", number, step.at, step.until)
    if connecting is not None:
        yield Phase("connecting", number, connecting, ask.ended)
