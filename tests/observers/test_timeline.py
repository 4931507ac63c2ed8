"""Where the time of a turn went, from the times of its steps."""

import pytest

from app.observers.recorded_ask import AskStep, AskTimes, KeptBytes, RecordedAsk
from app.observers.timeline import timeline

Found = tuple[str, int | None, float, float | None]
FIRST = AskTimes(
    5, 400, 900, [AskStep("asking", 6), AskStep("connecting", 7), AskStep("connected", 20), AskStep("answered", 390)]
)
AGAIN = AskTimes(
    5, 400, 900, [AskStep("asking", 6), AskStep("answered", 60), AskStep("asking", 310), AskStep("answered", 390)]
)
LOST = AskTimes(5, None, 80, [AskStep("asking", 6), AskStep("connecting", 7)])
UNREACHED = AskTimes(
    5, 400, 900,
    [AskStep("asking", 6), AskStep("connecting", 7), AskStep("answered", 60), AskStep("asking", 310),
     AskStep("connecting", 311), AskStep("connected", 320)],
)  # fmt: skip
STALLED = AskTimes(5, 10, None, [AskStep("asking", 6), AskStep("stall", 100, 2600)])


@pytest.mark.parametrize(
    ("steps", "asks", "total", "phases"),
    [
        (
            {"admitted": 1.0, "body": 2.0, "read": 4.0},
            [FIRST],
            905.0,
            [
                ("admission", None, 0, 1), ("body", None, 1, 2), ("reading", None, 2, 4), ("preparing", None, 4, 5),
                ("ask", 1, 5, 900), ("waiting", 1, 6, 400), ("connecting", 1, 7, 20), ("streaming", 1, 400, 900),
                ("ending", None, 900, 905),
            ],
        ),
        (
            {"read": 4.0},
            [AGAIN],
            900.5,
            [
                ("reading", None, 0, 4), ("preparing", None, 4, 5), ("ask", 1, 5, 900), ("waiting", 1, 6, 60),
                ("retry", 1, 60, 310),
                ("waiting", 1, 310, 400), ("streaming", 1, 400, 900),
            ],
        ),
        (
            {"read": 4.0},
            [LOST, FIRST._replace(started=90, kind="fallback")],
            900.0,
            [
                ("reading", None, 0, 4), ("preparing", None, 4, 5), ("ask", 1, 5, 80), ("waiting", 1, 6, 80),
                ("waiting", 2, 6, 400), ("connecting", 1, 7, 80), ("connecting", 2, 7, 20), ("between", None, 80, 90),
                ("fallback", 2, 90, 900), ("streaming", 2, 400, 900),
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
        (
            {"body": 2.0},
            [AskTimes(5, 10, 2700, [AskStep("asking", 5), AskStep("stall", 10, 2600)])],
            2700,
            [
                ("body", None, 0, 2), ("preparing", None, 2, 5), ("ask", 1, 5, 2700), ("waiting", 1, 5, 10),
                ("streaming", 1, 10, 2700), ("stall", 1, 10, 2600),
            ],
        ),
        (
            {"read": 4.0},
            [UNREACHED],
            900.0,
            [
                ("reading", None, 0, 4), ("preparing", None, 4, 5), ("ask", 1, 5, 900), ("waiting", 1, 6, 60),
                ("connecting", 1, 7, 60), ("retry", 1, 60, 310), ("waiting", 1, 310, 400), ("connecting", 1, 311, 320),
                ("streaming", 1, 400, 900),
            ],
        ),
        ({"body": 2.0}, [], 3.0, [("body", None, 0, 2), ("reading", None, 2, 3)]),
        ({"admitted": 1.0}, [], 3.0, [("admission", None, 0, 1), ("body", None, 1, 3)]),
        ({"read": 2.0}, [], None, [("reading", None, 0, 2), ("preparing", None, 2, None)]),
        ({}, [], None, [("admission", None, 0, None)]),
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
    answer = ask.requested(b"{}")
    for _ in range(500):
        ask.requested(b"{}")
        answer.piece(b"data: 12345\n")
        ask.library_read(b"data: 12345\n")
    ask.end("answered")
    ask.end("refused")
    for _ in range(3):
        answer.piece(b"later")
        answer.chunk({"later": True})
        ask.library_read(b"later")
    made = ask.made
    assert (ask.outcome, made.left_out, made.is_whole, len(counted)) == ("answered", 6000 - 83 * 12, False, 2 * 83)
    assert made.tries[0].raw(made.left_out) == KeptBytes([b"data: 12345\n"] * 83, 6000 - 83 * 12)
    assert made.read_left_out == made.left_out
    assert len(ask.steps) == len(ask.tries) == 64
    ask.forget()
    assert ask.made.shown == {"raw": None, "chunks": None, "failed_tries": []}
