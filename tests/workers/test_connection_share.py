"""Which worker takes a new connection."""

import pytest

from app.workers.connection_share import MOST_PAUSES, PAUSE, SILENT, ConnectionShare
from app.workers.worker_table import WorkerTable


class Clock:
    """A time that is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("mine", "opening", "others", "ages", "pause"),
    [
        (0, 0, [0, 0], [0, 0], 0),
        (1, 0, [1, 2], [0, 0], 0),
        (2, 0, [1, 3], [0, 0], PAUSE),
        (0, 1, [0, 3], [0, 0], PAUSE),
        (5, 0, [0], [SILENT + 0.1], 0),
        (5, 0, [0, 1], [SILENT + 0.1, 0], PAUSE),
    ],
)
def test_the_one_with_the_fewest_takes_it(
    mine: int, opening: int, others: list[int], ages: list[float], pause: float
) -> None:
    clock = Clock()
    table = WorkerTable(len(others) + 1)
    share = ConnectionShare(table, 0, clock)
    share.changed(mine)
    for number, (connections, age) in enumerate(zip(others, ages, strict=True), start=1):
        table.row(number).connections = connections
        table.row(number).seen = clock.now - age
    assert share.pause(opening) == pause
    assert table.row(0).connections == mine + opening


def test_a_worker_that_waited_long_enough_takes_one_after_the_other() -> None:
    clock = Clock()
    table = WorkerTable(2)
    share = ConnectionShare(table, 0, clock)
    share.changed(9)
    table.row(1).seen = clock.now
    assert [share.pause(0) for _ in range(MOST_PAUSES)] == [PAUSE] * MOST_PAUSES
    assert [share.pause(0) for _ in range(4)] == [0, PAUSE, 0, PAUSE]
    clock.now += 4 * PAUSE
    assert share.pause(0) == PAUSE
    table.row(1).clear()  # the other has ended
    assert share.pause(0) == 0
