from collections.abc import Mapping, Sequence
from typing import Any

from app.emitter.deltas import TextDelta
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.problems import Problem, refuse
from app.protocol.request.create_response import CreateResponse
from app.transports.sse import checked_last
from app.turns.lifecycle import TurnLifecycle
from app.turns.limits import Limits
from app.turns.log import TurnLog
from tests.support.emitters import COUNTED, END, new_emitter


class Record:
    """An observer of one turn that notes every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def began(self, fields: Mapping[str, Any]) -> "Record":
        self.calls.append(("began", dict(fields)))
        return self

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:
        self.calls.append(("asked", request.model, ask, warnings, upstream))

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        self.calls.append(("goes on", ask, size, upstream))

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        self.calls.append(("attempt failed", upstream, problem.code))

    def sent(self, events: list[Event]) -> None:
        self.calls.append(("sent", [type(event).__name__ for event in events]))

    def refused(self, problem: Problem) -> None:
        self.calls.append(("refused", problem.code, problem.message))

    def ended(self, fields: Mapping[str, Any]) -> None:
        self.calls.append(("ended", fields["finish"]))


async def test_an_observer_sees_a_turn_from_its_beginning_to_its_end() -> None:
    record = Record()
    log = TurnLog([record], request_id="req_1")
    log.asked(parse_request(b'{"model": "demo", "input": "Hi"}'), {"messages": []}, ["no"], "there")
    emitter = new_emitter()
    log.sent(emitter.begin())
    batch = [*emitter.feed([TextDelta("Hi"), COUNTED, END]), *emitter.end()]
    log.ends(checked_last(batch[-1]))
    log.sent(batch)
    log.write()
    last = ["OutputItemAdded", "ContentPartAdded", "OutputTextDelta", "OutputTextDone", "ContentPartDone"]
    assert record.calls == [
        ("began", {"request_id": "req_1"}),
        ("asked", "demo", {"messages": []}, ["no"], "there"),
        ("sent", ["ResponseCreated", "ResponseInProgress"]),
        ("sent", [*last, "OutputItemDone", "ResponseCompleted"]),
        ("ended", "completed"),
    ]


async def test_an_observer_learns_why_a_turn_was_refused() -> None:
    record = Record()
    TurnLifecycle(TurnLog([record]), Limits(1)).refuse(refuse("invalid_value", "no").problem)
    assert record.calls == [("began", {}), ("refused", "invalid_value", "no"), ("ended", "refused")]


async def test_an_observer_hears_of_a_client_that_left_before_its_turn_began() -> None:
    record = Record()
    TurnLog([record]).write()
    assert record.calls == [("began", {}), ("ended", "disconnected")]
