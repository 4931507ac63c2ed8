"""Where the time of a turn went: its phases, in milliseconds since it began."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from .recorded_ask import AskStep

PHASES: Final = {
    "body": "waiting for the client's request",
    "preparing": "reading and translating the request",
    "ask": "a request to an upstream",
    "retry": "waiting before the same upstream was asked again",
    "connecting": "connecting to the upstream",
    "waiting": "waiting for the upstream's first data",
    "streaming": "the upstream was sending its answer",
    "stall": "the upstream sent nothing",
    "ending": "from the end of the answer to the end of the turn",
}
"""The phases, and what they are."""
LEAST_END: Final = 1.0
"""Milliseconds from which the end is a phase."""


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


class AskTimes(NamedTuple):
    """When the parts of one request to an upstream began."""

    started: float
    first: float | None
    ended: float | None
    steps: Sequence[AskStep]


def timeline(steps: Mapping[str, float], asks: Sequence[AskTimes], total: float | None) -> list[Phase]:
    """The phases, in the order in which they begin. One that still runs has no end."""
    body = steps.get("body")
    prepared = asks[0].started if asks else steps.get("read", total)
    phases = [] if body is None else [Phase("body", None, 0.0, body)]
    phases.append(Phase("preparing", None, body or 0.0, prepared))
    for number, ask in enumerate(asks, 1):
        phases.append(Phase("ask", number, ask.started, ask.ended))
        phases += _parts(number, ask)
    ended = asks[-1].ended if asks else None
    if ended is not None and total is not None and total - ended >= LEAST_END:
        phases.append(Phase("ending", None, ended, total))
    return sorted(phases, key=lambda phase: phase.begin)


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
    connecting: float | None = None
    for step in ask.steps:
        if step.name == "connecting":
            connecting = step.at
        elif step.name == "connected" and connecting is not None:
            yield Phase("connecting", number, connecting, step.at)
            connecting = None
        elif step.name == "stall":
            yield Phase("stall", number, step.at, step.until)
    if connecting is not None:
        yield Phase("connecting", number, connecting, ask.ended)
    if ask.first is not None:
        yield Phase("streaming", number, ask.first, ask.ended)
