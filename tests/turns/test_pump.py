"""The loop: what it does while the upstream speaks, is silent, breaks, and when its client is slow or gone."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from app.protocol.events import LastEvent, ResponseFailed
from app.protocol.output_items import Message, OutputText
from app.protocol.problems import Problem, ProblemError
from app.turns.payload_reader import QUEUE
from app.upstreams.clocks import Clocks
from app.upstreams.port import UpstreamBroke, UpstreamRefused
from tests.support.pump_turns import STOP, Script, last, names, pump, pump_into, says, turn

BUSY = Problem(code="rate_limit_exceeded", message="Too much to do.", retry_after=7)
BROKEN = Problem(code="upstream_error", message="It broke.")


async def test_a_turn_is_told_from_beginning_to_end_and_the_upstream_closed() -> None:
    script = Script(says("Hi"), STOP)
    running = pump(script)
    await running.open(5)
    assert await names(running.batches()) == [
        "ResponseCreated",
        "ResponseInProgress",
        "OutputItemAdded",
        "ContentPartAdded",
        "OutputTextDelta",
        "OutputTextDone",
        "ContentPartDone",
        "OutputItemDone",
        "ResponseCompleted",
    ]
    await running.close()
    assert script.closed


@pytest.mark.parametrize("error", [UpstreamRefused(BUSY), UpstreamBroke(BUSY)])
async def test_a_refusal_before_the_first_payload_is_a_problem_not_a_stream(error: Exception) -> None:
    running = pump(Script(error))
    with pytest.raises(ProblemError) as caught:
        await running.open(5)
    await running.close()
    assert caught.value.problem == BUSY


async def test_an_error_as_the_first_payload_is_a_problem_too() -> None:
    running = pump(Script({"error": {"message": "what it means is for the upstream to say"}}))
    with pytest.raises(ProblemError) as caught:
        await running.open(5)
    await running.close()
    assert caught.value.problem.code == "upstream_error"


async def test_an_upstream_that_closes_without_a_word_is_a_problem_too() -> None:
    running = pump(Script())
    with pytest.raises(ProblemError) as caught:
        await running.open(5)
    await running.close()
    assert caught.value.problem.code == "upstream_error"


async def test_a_refusal_after_the_status_line_was_sent_is_the_last_event() -> None:
    running = pump(Script(0.05, UpstreamRefused(BUSY)))
    await running.open(0.01)
    event = await last(running.batches())
    await running.close()
    assert isinstance(event, ResponseFailed)
    assert event.response.error is not None
    assert event.response.error.message == "Too much to do. Please try again in 7s."


async def test_a_break_in_mid_stream_is_the_last_event() -> None:
    running = pump(Script(says("Hi"), UpstreamBroke(BROKEN)))
    await running.open(5)
    assert (await names(running.batches()))[-4:] == [
        "OutputTextDone",
        "ContentPartDone",
        "OutputItemDone",
        "ResponseFailed",
    ]
    await running.close()


async def test_our_own_fault_shows_the_request_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    running = pump(Script(says("Hi"), KeyError("secret")))
    await running.open(5)
    event = await last(running.batches())
    await running.close()
    assert isinstance(event, ResponseFailed)
    assert event.response.error is not None
    assert event.response.error.message == "AM Proxy failed; its log says more under req_1."
    assert "secret" in caplog.text


async def test_a_payload_that_cannot_be_told_ends_the_turn_and_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(says("Hi"), says("!"), STOP)
    chat_turn = turn()
    running = pump_into(chat_turn, script.play(), Clocks())
    await running.open(5)
    monkeypatch.setattr(chat_turn, "receive", lambda _payload: 1 / 0)
    event = await last(running.batches())
    await running.close()
    assert isinstance(event, ResponseFailed)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("method", ["end", "keep_alive"])
async def test_a_turn_that_raises_ends_with_its_last_event(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chat_turn = turn()
    running = pump_into(chat_turn, Script(says("Hi"), 0.1).play(), Clocks(keep_alive=0.05))
    await running.open(5)
    monkeypatch.setattr(chat_turn, method, lambda: 1 / 0)
    event = await last(running.batches())
    await running.close()
    assert isinstance(event, ResponseFailed)
    assert event.response.error is not None
    assert event.response.error.message == "AM Proxy failed; its log says more under req_1."
    assert "ZeroDivisionError" in caplog.text


async def test_a_turn_whose_only_answer_is_there_is_not_spoilt_by_being_stopped() -> None:
    running = pump(Script(says("Hi"), STOP))
    await running.open(5)
    await asyncio.sleep(0.01)
    running.interrupt(BROKEN)
    event = await last(running.batches())
    await running.close()
    assert not isinstance(event, ResponseFailed)


async def test_silence_is_filled_with_signs_of_life() -> None:
    running = pump(Script(0.4, says("Hi"), 0.4, STOP), keep_alive=0.05)
    await running.open(0.01)
    events = await names(running.batches())
    await running.close()
    assert events[:4] == ["ResponseCreated", "ResponseInProgress", "ResponseInProgress", "ResponseInProgress"]
    chat_turn = events[events.index("OutputItemAdded") :]
    assert chat_turn[:5] == ["OutputItemAdded", "ContentPartAdded", *["OutputTextDelta"] * 3]


CLOCKS = [
    ("did not answer", Script(5.0), {"turn": 0.05}),
    ("stopped talking", Script(says("Hi"), 5.0), {"idle": 0.05}),
    ("was still answering", Script(says("Hi"), *[0.02, says(".")] * 100, STOP), {"turn": 0.1}),
]


async def test_an_upstream_that_never_pauses_ends_with_its_time_too() -> None:
    running = pump(Script(*[says(".")] * 200_000), turn=0.1)
    await running.open(5)
    events = await last(running.batches())
    await running.close()
    assert isinstance(events, ResponseFailed)
    assert events.response.error is not None
    assert "was still answering" in events.response.error.message


@pytest.mark.parametrize(("words", "script", "clocks"), CLOCKS)
async def test_every_clock_ends_the_turn_and_closes_the_upstream(
    words: str, script: Script, clocks: dict[str, float]
) -> None:
    running = pump(script, **clocks)
    await running.open(0.01)
    event = await last(running.batches())
    await running.close()
    assert isinstance(event, ResponseFailed)
    assert event.response.error is not None
    assert words in event.response.error.message
    assert script.closed


async def test_an_upstream_too_slow_before_its_first_byte_is_a_504_where_the_status_is_still_ours_to_say() -> None:
    running = pump(Script(5.0), turn=0.05)
    with pytest.raises(ProblemError) as caught:
        await running.open(0.05)
    await running.close()
    assert caught.value.problem.shape.status == 504


async def test_a_slow_client_slows_the_upstream() -> None:
    script = Script(*[says(".")] * 1000, STOP)
    running = pump(script)
    await running.open(5)
    batches = running.batches()
    await anext(batches)
    await asyncio.sleep(0.02)
    assert script.drawn <= QUEUE + 1
    last_event = await last(batches)
    await running.close()
    assert isinstance(last_event, LastEvent)
    assert last_event.response.output == [
        Message(id="msg_AM-2", status="completed", content=[OutputText(text="." * 1000)])
    ]


async def test_closing_in_the_middle_closes_the_upstream_at_once() -> None:
    script = Script(says("Hi"), 60.0)
    running = pump(script)
    await running.open(5)
    await asyncio.wait_for(running.close(), 1)
    assert script.closed


async def test_closing_passes_on_the_cancellation_of_whoever_awaits_it() -> None:
    """The upstream takes its time to be closed, and is closed all the same."""
    closed = asyncio.Event()

    async def play() -> AsyncGenerator[Any]:
        try:
            yield says("Hi")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            closed.set()

    running = pump_into(turn(), play(), Clocks())
    await running.open(5)
    closing = asyncio.create_task(running.close())
    await asyncio.sleep(0.01)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await asyncio.wait_for(closed.wait(), 5)
