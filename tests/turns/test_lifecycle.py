"""However the block of a turn ends: its upstream is closed, its slot is free, and one line says how it ended."""

import asyncio
import json
import re
import socket
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from app.protocol.problems import Problem, refuse
from app.settings import Key
from app.turns.grammar_checks import GrammarChecks
from app.turns.lifecycle import ClientGoneError, RunningTurn, TurnLifecycle
from app.turns.limits import LEAVING, Limits
from app.turns.log import NoLog, TurnLog
from app.turns.service import TurnService
from app.upstreams.clocks import Clocks
from tests.support.serving import serving

APP: Final = Path(__file__).parents[2] / "app"
ALICE: Final = Key("alice", b"a")


class Upstream:
    """Stands for a pump, whose turn may have failed: notes what is done to it."""

    def __init__(self, limits: Limits, problem: Problem | None) -> None:
        self._limits = limits
        self.problem = problem
        self.interrupted: list[Problem] = []
        self.slots_when_closed = -1

    def interrupt(self, problem: Problem) -> None:
        self.interrupted.append(problem)

    def ended_with(self, problem: Problem) -> bool:
        return self.problem is problem

    async def close(self) -> None:
        self.slots_when_closed = len(self._limits.slots)


class Answer:
    """Stands for the turn of a dialect, and for what knows that it is the one that is asked."""

    clocks = Clocks()
    warnings: tuple[str, ...] = ()
    late_warnings: tuple[str, ...] = ()
    notes: Final = {"usage": "estimated"}

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        """What the turn failed with, or was refused for."""

    @property
    def turn(self) -> "Answer":
        return self

    def ended(self, problem: Problem) -> None:
        self.problems.append(problem)


def line(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    [record] = [record for record in caplog.records if record.name == "am_proxy.turn"]
    fields: dict[str, Any] = record.__dict__["fields"]
    return {name: value for name, value in fields.items() if name != "duration_ms"}


def asked(limits: Limits, problem: Problem | None = None, answer: Answer | None = None) -> tuple[Upstream, RunningTurn]:
    upstream = Upstream(limits, problem)
    asks: Any = answer or Answer()
    pump: Any = upstream
    return upstream, RunningTurn(asks, pump, 0, GrammarChecks(asks, None, ""))


REFUSED: Final = refuse("invalid_value", "no")


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (None, {"finish": "disconnected", "usage": "estimated"}),
        (ClientGoneError(), {"finish": "disconnected", "usage": "estimated"}),
        (asyncio.CancelledError(), {"finish": "disconnected", "usage": "estimated"}),
        (REFUSED, {"finish": "refused", "status": 400, "error": "invalid_value"}),
        (
            ZeroDivisionError(),
            {"finish": "failed", "status": 500, "error": "internal_error", "usage": "estimated"},
        ),
    ],
)
async def test_a_turn_ends_as_its_block_ends(
    caplog: pytest.LogCaptureFixture, error: BaseException | None, ended: dict[str, Any]
) -> None:
    limits = Limits(1)
    answer = Answer()
    upstream, running = asked(limits, answer=answer)
    with caplog.at_level("INFO", "am_proxy.turn"), nullcontext() if error is None else pytest.raises(type(error)):
        async with TurnLifecycle(TurnLog(request_id="req_1"), limits) as turn:
            turn.admit(ALICE)
            turn.begun(running)
            if error is not None:
                raise error
    assert line(caplog) == {"request_id": "req_1", "key": "alice", **ended}
    assert answer.problems == ([REFUSED.problem] if ended["finish"] == "refused" else [])
    assert upstream.slots_when_closed == 1, "the upstream is closed first"
    assert not limits.slots


@pytest.mark.parametrize(
    ("problem", "notes"),
    [
        (Problem(code="upstream_error", message="It broke."), {"cause": "upstream_error"}),
        (LEAVING, {"cause": "overloaded", "cut_short": True}),
    ],
)
async def test_its_line_names_the_cause_of_a_failure(
    caplog: pytest.LogCaptureFixture, problem: Problem, notes: dict[str, Any]
) -> None:
    limits = Limits(1)
    with caplog.at_level("INFO", "am_proxy.turn"):
        async with TurnLifecycle(TurnLog(), limits) as turn:
            turn.admit(ALICE)
            turn.begun(asked(limits, problem, answer := Answer())[1])
    assert line(caplog) == {"key": "alice", "finish": "disconnected", "usage": "estimated", **notes}
    assert answer.problems == ([] if problem is LEAVING else [problem])


async def test_a_turn_that_is_not_admitted_is_logged_with_its_caller(caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(1)
    limits.end()
    with caplog.at_level("INFO", "am_proxy.turn"), pytest.raises(type(REFUSED)):
        async with TurnLifecycle(TurnLog(), limits) as turn:
            turn.admit(ALICE)
    assert line(caplog) == {"key": "alice", "finish": "refused", "status": 503, "error": "overloaded"}


async def test_the_end_of_the_server_interrupts_a_turn_once_it_has_begun() -> None:
    limits = Limits(1)
    upstream, running = asked(limits)
    async with TurnLifecycle(NoLog(), limits) as turn:
        turn.admit(ALICE)
        limits.end()
        turn.begun(running)
    assert upstream.interrupted == [LEAVING]


async def test_what_is_only_looked_at_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "am_proxy.turn"):
        async with TurnLifecycle(NoLog(), Limits(1)) as turn:
            turn.admit(ALICE)
    assert not caplog.records


@pytest.mark.parametrize("call", [r"slot\.give_back\b", r"log\.write\("])
def test_slots_are_given_back_and_lines_are_written_in_one_file(call: str) -> None:
    found = [path.name for path in sorted(APP.rglob("*.py")) if re.search(call, path.read_text("utf-8"))]
    assert found == ["lifecycle.py"]


@pytest.mark.parametrize("path", ["", "/compact", "/input_tokens"])
def test_a_client_that_leaves_before_its_upstream_is_asked_stops_the_work(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def wait(*_: Any, **__: Any) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    monkeypatch.setattr(TurnService, "begin", wait)
    monkeypatch.setattr(TurnService, "count", wait)
    body = json.dumps({"model": "demo", "input": "Hi"}).encode()
    head = f"POST /v1/responses{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n".encode()
    with serving() as url:
        address = urlsplit(url)
        with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
            client.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            assert began.wait(5)
            assert not cancelled.is_set()
        assert cancelled.wait(1)
