"""Limits of callers that hold for all workers together."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from app.protocol.problems import ProblemError
from app.settings import Key
from app.turns.limits import Limits
from app.turns.worker_rate_limit import FREE_AFTER, WorkerLimits
from app.workers.owner_table import NEAR, PATIENCE, SLOTS, OwnerTable


class Clock:
    """A time that is set; the same for all workers."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table() -> OwnerTable:
    return OwnerTable(3)


def workers(table: OwnerTable, clock: Clock, number: int = 3) -> list[Limits]:
    return [Limits(100, clock, workers=WorkerLimits(table, each)) for each in range(number)]


def admitted(limits: Limits, key: Key) -> bool:
    try:
        limits.admit(key)
    except ProblemError:
        return False
    return True


def in_turn(limits: list[Limits]) -> Iterator[Limits]:
    while True:
        yield from limits


def test_a_rate_is_that_of_all_workers(table: OwnerTable, clock: Clock) -> None:
    all_ = workers(table, clock)
    key = Key("a", b"a", requests_per_minute=6)
    assert [admitted(each, key) for each, _ in zip(in_turn(all_), range(9), strict=False)] == [True] * 6 + [False] * 3
    assert {each.headers(key)["x-ratelimit-remaining-requests"] for each in all_} == {"0"}
    clock.now += 20  # two more
    assert [admitted(each, key) for each, _ in zip(in_turn(all_[::-1]), range(3), strict=False)] == [True, True, False]
    other = Key("b", b"b", requests_per_minute=6)
    assert all_[0].headers(other)["x-ratelimit-remaining-requests"] == "6"
    assert admitted(all_[0], other)


def test_concurrency_is_that_of_all_workers(table: OwnerTable, clock: Clock) -> None:
    one, two, _ = workers(table, clock)
    key = Key("a", b"a", concurrency=2)
    first, second = one.admit(key), two.admit(key)
    assert not admitted(one, key)
    assert not admitted(two, key)
    first.give_back()
    first.give_back()
    assert admitted(two, key)
    assert not admitted(one, key)
    second.give_back()
    assert admitted(one, key)


def test_turns_of_a_dead_worker_count_no_longer(table: OwnerTable, clock: Clock) -> None:
    one, two, _ = workers(table, clock)
    key = Key("a", b"a", concurrency=1, requests_per_minute=2)
    two.admit(key)
    assert not admitted(one, key)
    table.end(1)
    assert admitted(one, key)
    assert one.headers(key)["x-ratelimit-remaining-requests"] == "0"  # what it sent was sent


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # the child only counts
def test_processes_that_take_at_once_get_no_more_than_there_is() -> None:
    table = OwnerTable(4)
    key = Key("a", b"a", requests_per_minute=1000)
    readings = []
    for number in range(4):
        reading, writing = os.pipe()
        if os.fork() == 0:
            limits = Limits(5000, Clock(), workers=WorkerLimits(table, number))
            os.write(writing, str(sum(admitted(limits, key) for _ in range(600))).encode())
            os._exit(0)
        os.close(writing)
        readings.append(reading)
    counts = [int(os.read(reading, 99)) for reading in readings]
    for reading in readings:
        os.wait()
        os.close(reading)
    assert sum(counts) == 1000


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # as above
def test_a_worker_that_is_stopped_within_a_change_delays_the_others_once() -> None:
    table = OwnerTable(2)
    key = Key("a", b"a", requests_per_minute=5)
    limits = Limits(5000, Clock(), workers=WorkerLimits(table, 0))
    assert admitted(limits, key)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for slot in range(SLOTS + 1):  # whichever it is
            table._lock(slot)
        os.write(writing, b"held")
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    assert os.read(reading, 4) == b"held"
    times = []
    for _ in range(3):
        began = time.monotonic()
        assert admitted(limits, key)
        times.append(time.monotonic() - began)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert times[0] >= PATIENCE
    assert max(times[1:]) < PATIENCE
    assert table._stuck
    assert admitted(limits, key)
    assert not table._stuck
    assert not admitted(limits, key)


def test_a_slot_is_reused_when_its_owner_was_idle_for_long(clock: Clock) -> None:
    table = OwnerTable(1, slots=NEAR)
    (limits,) = workers(table, clock, 1)
    keys = [Key(f"k{number}", b"k", requests_per_minute=1) for number in range(NEAR + 1)]
    slots = [limits.admit(key) for key in keys]
    assert [admitted(limits, key) for key in keys] == [False] * (NEAR + 1)  # the last one without a slot, too
    for slot in slots:
        slot.give_back()
    clock.now += FREE_AFTER + 1
    late = Key("late", b"k", requests_per_minute=1)
    assert admitted(limits, late)
    (other,) = workers(table, clock, 1)
    assert not admitted(other, late)
    assert all(admitted(limits, key) for key in keys)  # they find other slots, or count here alone


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # the child only counts
def test_what_a_stopped_process_locks_delays_others_for_a_moment_only(table: OwnerTable, clock: Clock) -> None:
    key = Key("a", b"a", requests_per_minute=2)
    one, two, _ = workers(table, clock)
    one.admit(key)
    slot = table.slot(key.owner, clock.now, 0)
    assert slot is not None
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with table.changing(slot):
            os.write(writing, b".")
            os.read(os.pipe()[0], 1)  # for ever
        os._exit(0)
    os.read(reading, 1)
    assert admitted(two, key)
    assert not admitted(two, key)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
