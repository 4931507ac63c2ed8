"""A process that is busy knows by how much, and holds it against no upstream."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from app.http_client.http_connecting import HttpConnector
from app.loop_delay import TICK, LoopDelay
from app.settings import Model, Settings, Upstream
from tests.support.scripted_upstream import scripted_upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import Hang

GIVEN: Final = 0.1


class Clockwork:
    """As much of an event loop as timers need. It is busy whenever it is told to be."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> Any:
        self.timers.append((when, call))
        clock = self

        class Timer:
            def cancel(self) -> None:
                clock.timers.remove((when, call))

        return Timer()

    def busy(self, seconds: float) -> None:
        """Nothing runs; then whatever is due does."""
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer not in due]
        for _, call in due:
            call()

    def idle(self, seconds: float) -> None:
        """Timers run when they are due."""
        until = self.now + seconds
        while self.timers and (due := min(when for when, _ in self.timers)) <= until:
            self.busy(max(0.0, due - self.now))
        self.now = until


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("idle", 10)], 0.0),
        ([("idle", 4), ("busy", 6 + TICK)], 6 / (10 + TICK)),
        ([("busy", 1 + TICK)] * 9, 9 / (9 + 9 * TICK)),
        ([("idle", 5), ("busy", 5 + TICK), ("idle", 10)], 5 / (20 + TICK)),
        ([("busy", TICK)] * 100, 0.0),
    ],
)
def test_delays_are_measured_whenever_they_come(steps: list[tuple[str, float]], expected: float) -> None:
    clock = Clockwork()
    delay = LoopDelay(clock)  # type: ignore[arg-type]
    with delay.share() as share:
        assert share() == 0.0
        for step, seconds in steps:
            getattr(clock, step)(seconds)
        assert share() == pytest.approx(expected)
    assert clock.timers == []


def test_all_who_measure_share_one_timer_and_nobody_sees_what_was_before() -> None:
    clock = Clockwork()
    delay = LoopDelay(clock)  # type: ignore[arg-type]
    with delay.share() as first:
        clock.busy(10 + TICK)
        with delay.share() as second:
            assert len(clock.timers) == 1
            clock.idle(10)
            assert [first(), second()] == pytest.approx([10 / (20 + TICK), 0.0])
        assert len(clock.timers) == 1
    clock.busy(100)
    with delay.share() as third:
        clock.idle(10)
        assert third() == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("via", "clock"),
    [("chat", "first_payload_timeout"), ("chat", "connect_timeout"), ("responses", "connect_timeout")],
)
def test_a_time_out_of_this_process_is_no_outage_of_the_upstream(
    via: str, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is busy itself until the time of its first turn is over."""
    connect, busy = HttpConnector._connected, [3 * GIVEN]

    async def late(self: HttpConnector, *args: Any, **kwargs: Any) -> Any:
        if busy:
            time.sleep(busy.pop())  # noqa: ASYNC251 — that is the fault
            await asyncio.sleep(0.01)
        return await connect(self, *args, **kwargs)

    monkeypatch.setattr(HttpConnector, "_connected", late)
    with scripted_upstream(via, text_turn("Hi")) as upstream:
        upstream_settings: Any = {
            "via": via,
            "base_url": upstream.url,
            "breaker_failures": 1,
            "retries": 0,
            clock: GIVEN,
        }
        settings = Settings(upstreams={"u": Upstream(**upstream_settings)}, models={"m": Model(upstream="u")})
        with serving(settings) as url:
            codes = [answered(url) for _ in range(2)]
    assert codes[0] in (502, 504)
    assert codes[1] != 503


def test_a_silent_upstream_is_left_alone_as_ever() -> None:
    with scripted_upstream("chat", [Hang()]) as upstream:
        events = Upstream(via="chat", base_url=upstream.url, breaker_failures=1, retries=0, first_payload_timeout=GIVEN)
        settings = Settings(upstreams={"u": events}, models={"m": Model(upstream="u")})
        with serving(settings) as url:
            assert any(answered(url) == 503 for _ in range(20))


def answered(url: str) -> int:
    return httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, timeout=20).status_code
