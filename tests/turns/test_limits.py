"""How many turns run at once, and what a key may: refused before the body is read, released however a turn ends."""

import pytest

from app.protocol.problems import Problem, ProblemError
from app.settings import Key, Secret
from app.turns.limits import LEAVING, Limits
from app.turns.rate_limit import MOST_GUESTS, RateLimit

ALICE = Key("alice", b"a")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def refused(limits: Limits, caller: Key) -> Problem:
    with pytest.raises(ProblemError) as caught:
        limits.admit(caller)
    return caught.value.problem


def test_a_minutes_requests_may_come_at_once_and_come_back_one_by_one() -> None:
    clock = Clock()
    limits = Limits(100, clock)
    key = Key("alice", b"a", requests_per_minute=3)
    left = [limits.headers(key)["x-ratelimit-remaining-requests"]]
    for _ in range(3):
        limits.admit(key).give_back()
        left.append(limits.headers(key)["x-ratelimit-remaining-requests"])
    assert left == ["3", "2", "1", "0"]
    problem = refused(limits, key)
    assert (problem.code, problem.retry_after, problem.shape.status) == ("rate_limit_exceeded", 20, 429)
    assert limits.headers(key) == {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    clock.now += 20
    limits.admit(key).give_back()
    assert refused(limits, key).retry_after == 20
    clock.now += 10_000
    assert limits.headers(key)["x-ratelimit-remaining-requests"] == "3"


@pytest.mark.parametrize(
    ("per_minute", "passed", "reset"),
    [(600, 0.05, "50ms"), (60, 0.0, "1s"), (20, 0.0, "3s"), (1, 0.0, "1m0s"), (1, 52.34, "7.66s")],
)
def test_the_time_until_all_is_back_is_spelled_as_openai_spells_it(per_minute: int, passed: float, reset: str) -> None:
    clock = Clock()
    key = Key("a", b"a", requests_per_minute=per_minute)
    rate_limit = RateLimit(clock)
    rate_limit.take(key)
    clock.now += passed
    assert rate_limit.headers(key)["x-ratelimit-reset-requests"] == reset


def test_one_key_does_not_use_up_what_another_has() -> None:
    limits = Limits(100)
    first, second = (Key(name, b"k", requests_per_minute=1, concurrency=1) for name in ("a", "b"))
    limits.admit(first)
    limits.admit(second)
    assert refused(limits, first).code == "rate_limit_exceeded"


def test_turns_at_once_count_until_they_are_given_back_once() -> None:
    limits = Limits(100)
    key = Key("alice", b"a", concurrency=2)
    slots = [limits.admit(key) for _ in range(2)]
    assert refused(limits, key).retry_after == 1
    for _ in range(3):
        slots[0].give_back()
    limits.admit(key)
    assert refused(limits, key).code == "rate_limit_exceeded"
    assert limits.headers(key) == {}


def test_a_turn_that_is_refused_for_want_of_room_costs_its_key_nothing() -> None:
    limits = Limits(1)
    key = Key("alice", b"a", requests_per_minute=2)
    slot = limits.admit(key)
    assert refused(limits, key).code == "overloaded"
    slot.give_back()
    limits.admit(key)


def test_at_the_end_every_turn_is_told_and_none_begins() -> None:
    limits = Limits(10)
    interrupted: list[Problem] = []
    early, late, over = (limits.admit(ALICE) for _ in range(3))
    early.on_end(interrupted.append)
    over.on_end(interrupted.append)
    over.give_back()
    limits.leave()
    assert (limits.ready, interrupted) == (False, [])
    limits.admit(ALICE)
    limits.end()
    assert interrupted == [LEAVING]
    late.on_end(interrupted.append)
    assert interrupted == [LEAVING, LEAVING]
    assert refused(limits, ALICE) == LEAVING


def guest(number: int, **limits: int) -> Key:
    """A caller whose own key is for an upstream."""
    return Key("guest", b"", is_guest=True, own=Secret(f"sk-{number}"), **limits)  # type: ignore[arg-type]


def test_guests_have_their_limits_each_for_itself() -> None:
    limits = Limits(100)
    for number in range(3):
        limits.admit(guest(number, concurrency=1, requests_per_minute=5))
    assert refused(limits, guest(0, concurrency=1)).code == "rate_limit_exceeded"
    left = [limits.headers(guest(n, requests_per_minute=5))["x-ratelimit-remaining-requests"] for n in (0, 9)]
    assert left == ["4", "5"]


def test_a_key_called_guest_shares_nothing_with_guests() -> None:
    limits = Limits(100)
    limits.admit(guest(1, concurrency=1))
    key = Key("guest", b"k", concurrency=1)
    limits.admit(key)
    assert refused(limits, key).code == "rate_limit_exceeded"


def test_all_guests_together_leave_half_of_the_turns_to_keys() -> None:
    limits = Limits(4)
    slots = [limits.admit(guest(number)) for number in range(2)]
    problem = refused(limits, guest(2))
    assert (problem.code, problem.retry_after) == ("overloaded", 2)
    limits.admit(ALICE)
    slots[0].give_back()
    slots[0].give_back()
    limits.admit(guest(2))
    assert refused(limits, guest(3)).code == "overloaded"


def test_guests_without_end_are_not_remembered_without_end() -> None:
    limits = Limits(100)
    running = limits.admit(guest(-1, concurrency=1, requests_per_minute=1))
    for number in range(MOST_GUESTS + 50):
        limits.admit(guest(number, requests_per_minute=1)).give_back()
    assert len(limits._rate_limits._guests) <= MOST_GUESTS
    assert refused(limits, guest(-1, concurrency=1)).code == "rate_limit_exceeded"
    running.give_back()
    for number in range(50):
        limits.admit(guest(100_000 + number)).give_back()  # without a rate there is nothing to remember
    assert not [owner for owner in limits._rate_limits._guests if owner == guest(100_001).owner]


def test_other_limits_hold_for_what_was_used_before() -> None:
    clock = Clock()
    limits = Limits(100, clock)
    slot = limits.admit(Key("alice", b"a", requests_per_minute=5, concurrency=2))
    limits.follow(10, shared=False)
    key = Key("alice", b"renewed", requests_per_minute=2, concurrency=1)
    assert refused(limits, key).message == "This key may run 1 requests at once, and does."
    slot.give_back()
    assert limits.headers(key)["x-ratelimit-remaining-requests"] == "1"
    limits.admit(key)
