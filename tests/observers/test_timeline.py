"""Where the time of a turn went, from the times of its steps."""

import pytest

from app.observers.recorded_ask import AskStep, RecordedAsk
from app.observers.timeline import AskTimes, timeline

Found = tuple[str, int | None, float, float | None]
FIRST = AskTimes(
    5, 400, 900, [AskStep("asking", 6), AskStep("connecting", 7), AskStep("connected", 20), AskStep("answered", 390)]
)
AGAIN = AskTimes(
    5, 400, 900, [AskStep("asking", 6), AskStep("answered", 60), AskStep("asking", 310), AskStep("answered", 390)]
)
LOST = AskTimes(5, None, 80, [AskStep("asking", 6), AskStep("connecting", 7)])
STALLED = AskTimes(5, 10, None, [AskStep("asking", 6), AskStep("stall", 100, 2600)])


@pytest.mark.parametrize(
    ("steps", "asks", "total", "phases"),
    [
        (
            {"body": 2.0, "read": 4.0},
            [FIRST],
            905.0,
            [
                ("body", None, 0, 2), ("preparing", None, 2, 5), ("ask", 1, 5, 900), ("waiting", 1, 6, 400),
                ("connecting", 1, 7, 20), ("streaming", 1, 400, 900), ("ending", None, 900, 905),
            ],
        ),
        (
            {"read": 4.0},
            [AGAIN],
            900.5,
            [
                ("preparing", None, 0, 5), ("ask", 1, 5, 900), ("waiting", 1, 6, 60), ("retry", 1, 60, 310),
                ("waiting", 1, 310, 400), ("streaming", 1, 400, 900),
            ],
        ),
        (
            {"read": 4.0},
            [LOST, FIRST._replace(started=90)],
            900.0,
            [
                ("preparing", None, 0, 5), ("ask", 1, 5, 80), ("waiting", 1, 6, 80), ("waiting", 2, 6, 400),
                ("connecting", 1, 7, 80), ("connecting", 2, 7, 20), ("ask", 2, 90, 900), ("streaming", 2, 400, 900),
            ],
        ),
        (
            {"body": 2.0},
            [STALLED],
            None,
            [
                ("body", None, 0, 2), ("preparing", None, 2, 5), ("ask", 1, 5, None), ("waiting", 1, 6, 10),
                ("streaming", 1, 10, None), ("stall", 1, 100, 2600),
            ],
        ),
        ({"body": 2.0}, [], 3.0, [("body", None, 0, 2), ("preparing", None, 2, 3)]),
        ({}, [], None, [("preparing", None, 0, None)]),
    ],
)  # fmt: skip
def test_every_phase_of_a_turn_is_named(
    steps: dict[str, float], asks: list[AskTimes], total: float | None, phases: list[Found]
) -> None:
    assert [tuple(phase) for phase in timeline(steps, asks, total)] == phases


def test_the_steps_and_the_bytes_of_an_endless_answer_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.observers.recorded_ask.MOST_RAW", 1000)
    monkeypatch.setattr("app.observers.recorded_ask.STALL", 0)
    counted: list[int] = []

    def count(size: int) -> bool:
        counted.append(size)
        return True

    ask = RecordedAsk(0, count)
    for _ in range(500):
        ask.reached("asking")
        ask.received(b"data: 12345\n")
    ask.end("answered")
    ask.end("refused")
    ask.received(b"later")
    assert ask.raw is not None
    assert (ask.outcome, ask.bytes, ask.raw.left_out, len(counted)) == ("answered", 6000, 6000 - 83 * 12, 83)
    assert ask.raw.text == "data: 12345\n" * 83
    assert len(ask.steps) == 64
    ask.forget()
    assert ask.raw.text == ""
