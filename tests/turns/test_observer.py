from collections.abc import Mapping, Sequence
from typing import Any

from app.emitter.deltas import TextDelta
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.problems import Problem, refuse
from app.protocol.request.create_response import CreateResponse
from app.turns.lifecycle import TurnLifecycle
from app.turns.limits import Limits
from app.turns.log import TurnLog
from tests.support.stage import COUNTED, END, new_emitter


class Diary:
    """A observer of one turn, who writes down everything."""

    def __init__(self) -> None:
        self.pages: list[tuple[Any, ...]] = []

    def began(self, fields: Mapping[str, Any]) -> "Diary":
        self.pages.append(("began", dict(fields)))
        return self

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:
        self.pages.append(("asked", request.model, ask, warnings, upstream))

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        self.pages.append(("attempt failed", upstream, problem.code))

    def sent(self, events: list[Event]) -> None:
        self.pages.append(("told", [type(event).__name__ for event in events]))

    def refused(self, problem: Problem) -> None:
        self.pages.append(("refused", problem.code, problem.message))

    def ended(self, fields: Mapping[str, Any]) -> None:
        self.pages.append(("ended", fields["finish"]))


async def test_an_observer_sees_a_turn_from_its_beginning_to_its_end() -> None:
    diary = Diary()
    log = TurnLog([diary], request_id="req_1")
    log.asked(parse_request(b'{"model": "demo", "input": "Hi"}'), {"messages": []}, ["no"], "there")
    emitter = new_emitter()

    async def batches() -> Any:
        yield emitter.begin()
        yield [*emitter.feed([TextDelta("Hi"), COUNTED, END]), *emitter.end()]

    assert [len(batch) async for batch in log.watch(batches())] == [2, 7]
    log.write()
    last = ["OutputItemAdded", "ContentPartAdded", "OutputTextDelta", "OutputTextDone", "ContentPartDone"]
    assert diary.pages == [
        ("began", {"request_id": "req_1"}),
        ("asked", "demo", {"messages": []}, ["no"], "there"),
        ("told", ["ResponseCreated", "ResponseInProgress"]),
        ("told", [*last, "OutputItemDone", "ResponseCompleted"]),
        ("ended", "completed"),
    ]


async def test_an_observer_hears_why_a_turn_was_refused() -> None:
    diary = Diary()
    TurnLifecycle(TurnLog([diary]), Limits(1)).refuse(refuse("invalid_value", "no").problem)
    assert diary.pages == [("began", {}), ("refused", "invalid_value", "no"), ("ended", "refused")]


async def test_an_observer_hears_of_a_client_that_left_before_its_turn_began() -> None:
    diary = Diary()
    TurnLog([diary]).write()
    assert diary.pages == [("began", {}), ("ended", "disconnected")]
