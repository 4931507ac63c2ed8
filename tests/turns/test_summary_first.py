"""A turn of two steps: what ends it between the summary and the answer, and what does not."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from app.compaction.summary import first_turn
from app.compaction.summary_turn import SummaryContext, SummaryTurn
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.events import Event, ResponseCompleted, ResponseFailed
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from app.protocol.seals import Sealer
from app.turns.opening import RequestOpening
from app.turns.pump import Pump
from app.turns.summary_first import SummaryFirst
from app.turns.turn_protocols import Answer
from app.upstreams.clocks import Clocks
from tests.support.emitters import ReadableSealer, counted_ids
from tests.wire.script import says, stops

BROKEN = Problem(code="upstream_error", message="It broke.")
IDENTITY = Identity("resp_AM-1", 1)
HISTORY = [
    {"role": "user", "content": "Do it."},
    {"role": "assistant", "content": "word " * 2_000},
    {"role": "user", "content": "Go on."},
]
REQUEST = parse_request(
    json.dumps(
        {
            "model": "m",
            "input": HISTORY,
            "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
        }
    ).encode()
)
COUNTED = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}
SUMMARY = [says("Notes."), stops(), COUNTED]
USED = 12


def make(request: CreateResponse, sealer: Sealer | None) -> ChatTurn:
    options = ChatOptions(sealer=sealer)
    return ChatTurn(request, model="m", options=options, identity=IDENTITY, new_id=counted_ids(), now=lambda: 1)


class Asking:
    """An upstream that has written a summary, and may be asked for the answer: whether it was, and how it answers."""

    def __init__(self, *answer: Any, before: Callable[[], Awaitable[None]] | None = None) -> None:
        self.answer = answer
        self.before = before
        self.asked = False
        turn = first_turn(REQUEST, make, SummaryContext(IDENTITY, counted_ids(), lambda: 1, ReadableSealer()))
        assert isinstance(turn, SummaryTurn)
        self.turn: Any = turn
        self.notes: dict[str, Any] = {}
        pump = Pump(RequestOpening(REQUEST, IDENTITY), self._first, clocks=Clocks, request_id="req_1")
        self.running = SummaryFirst(pump, self, self._second, note=self._note, request_id="req_1")  # type: ignore[arg-type]

    def _note(self, **notes: Any) -> None:
        self.notes |= notes

    async def _first(self) -> Answer:
        return await self._answer(self.turn, *SUMMARY)

    def _second(self, summary: SummaryTurn) -> Pump:
        async def ask() -> Answer:
            if self.before is not None:
                await self.before()
            self.asked = True
            turn = make(summary.next_request, ReadableSealer())
            return await self._answer(turn, *self.answer)

        return Pump(summary.emitter, ask, clocks=Clocks, request_id="req_1")

    async def _answer(self, turn: Any, *payloads: Any) -> Answer:
        async def play() -> AsyncGenerator[Any]:
            for payload in payloads:
                yield payload

        source = play()
        return Answer(turn, Clocks(), await anext(source), source)

    async def last(self) -> Event:
        """The last event. Numbers and positions have no gap."""
        events = [event async for batch in self.running.batches() for event in batch]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        await self.running.close()
        return events[-1]


async def test_the_answer_continues_after_the_summary() -> None:
    asking = Asking(says("Yes."), stops(), COUNTED)
    await asking.running.open(5)
    event = await asking.last()
    assert isinstance(event, ResponseCompleted)
    assert [type(item).__name__ for item in event.response.output] == ["Compaction", "Message"]
    assert event.response.usage is not None
    assert event.response.usage.total_tokens == 2 * USED
    assert asking.notes == {"compaction": "threshold"}


def failed(event: Event, message: str) -> None:
    """The turn failed with this message, and with what the summary used."""
    assert isinstance(event, ResponseFailed)
    assert event.response.error is not None
    assert event.response.error.message == message
    assert [type(item).__name__ for item in event.response.output] == ["Compaction"]
    assert event.response.usage is not None
    assert event.response.usage.total_tokens == USED


async def test_a_turn_that_is_stopped_between_two_asks_sends_no_second_one() -> None:
    asking = Asking(says("Yes."), stops())
    await asking.running.open(5)
    await asyncio.sleep(0.01)  # the summary has been drawn to its end, and was not read yet
    asking.running.interrupt(BROKEN)
    failed(await asking.last(), "It broke.")
    assert not asking.asked


async def test_a_turn_that_is_stopped_while_the_second_ask_is_made_does_not_send_it() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def before() -> None:
        begun.set()
        await may_end.wait()

    asking = Asking(says("Yes."), stops(), before=before)
    await asking.running.open(5)
    ending = asyncio.create_task(asking.last())
    await begun.wait()
    asking.running.interrupt(BROKEN)
    failed(await ending, "It broke.")
    assert not asking.asked


async def test_a_client_that_leaves_while_the_second_ask_is_made_ends_the_turn() -> None:
    begun = asyncio.Event()

    async def before() -> None:
        begun.set()
        await asyncio.sleep(60)

    asking = Asking(before=before)
    await asking.running.open(5)
    ending = asyncio.create_task(asking.last())
    await begun.wait()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await asyncio.wait_for(asking.running.close(), 5)
    assert not asking.asked


async def test_an_error_while_the_second_ask_is_made_is_the_last_event(caplog: pytest.LogCaptureFixture) -> None:
    async def before() -> None:
        raise TimeoutError

    asking = Asking(before=before)
    await asking.running.open(5)
    failed(await asking.last(), "AM Proxy failed; its log says more under req_1.")
    assert "TimeoutError" in caplog.text


async def test_an_error_in_what_is_made_of_the_summary_is_the_last_event(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asking = Asking()
    monkeypatch.setattr(asking.turn, "finish", lambda: 1 / 0)
    await asking.running.open(5)
    event = await asking.last()
    assert isinstance(event, ResponseFailed)
    assert "ZeroDivisionError" in caplog.text
    assert not asking.asked
