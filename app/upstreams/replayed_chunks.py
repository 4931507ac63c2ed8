"""Upstreams that are not asked over HTTP by this server itself, whose chunks come from recordings."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from ..off_loop import off_loop
from ..protocol.problems import Problem
from ..recordings.recorded_answers import NotRecordedError, RecordedAnswers
from .causes import Cause
from .demo import Demo
from .faults import BROKE_OFF
from .litellm_chat import LitellmChat
from .port import UpstreamBroke, UpstreamRefused
from .replayed_http import never, not_recorded, pauses

Json = dict[str, Any]


class ReplayedDemo(Demo):
    """The embedded model, as it was recorded."""

    def __init__(self, answers: RecordedAnswers, *, keeps_pace: bool = False) -> None:
        self._answers = answers
        self._keeps_pace = keeps_pace

    def _chunks(self, ask: Json, key: str | None) -> AsyncGenerator[Json]:  # noqa: ARG002 — no key is needed
        return _replayed(self._answers, ask, keeps_pace=self._keeps_pace)


class ReplayedLitellm(LitellmChat):
    """An upstream behind litellm, as it was recorded. What its models can do is looked up as always."""

    def __init__(self, *arguments: Any, answers: RecordedAnswers, keeps_pace: bool = False, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._answers = answers
        self._keeps_pace = keeps_pace

    def _chunks(self, ask: Json, key: str | None) -> AsyncGenerator[Json]:  # noqa: ARG002 — no key is needed
        return _replayed(self._answers, ask, keeps_pace=self._keeps_pace)


async def _replayed(answers: RecordedAnswers, ask: Json, *, keeps_pace: bool) -> AsyncGenerator[Json]:
    try:
        size = len(msgspec.json.encode(ask))
        answer = await off_loop(size, answers.next_answer, ask)
    except NotRecordedError as error:
        raise not_recorded(error) from None
    del ask  # it may be large, and the answer may take long
    started = False
    for arrival, wait in zip(answer.arrivals, pauses(answer.arrivals), strict=True):
        await asyncio.sleep(wait if keeps_pace else 0)
        if arrival.problem is not None:
            raise _error(arrival.problem, started=started)
        if arrival.closed:
            if not answer.was_silent:
                raise UpstreamBroke(BROKE_OFF) if started else UpstreamRefused(BROKE_OFF)
            await never(was_silent=True)
        started = True
        yield arrival.chunk


def _error(told: Json, *, started: bool) -> Exception:
    problem = msgspec.convert(told, Problem)
    if started:
        return UpstreamBroke(problem)
    return UpstreamRefused(
        problem,
        wait=told.get("wait"),
        outage=told.get("outage"),
        elsewhere=bool(told.get("elsewhere")),
        timed_out=bool(told.get("timed_out")),
        cause=_cause(told["cause"]) if "cause" in told else None,
    )


def _cause(told: Json) -> Cause:
    return msgspec.convert([told["kind"], told["words"]], Cause)
