"""When an upstream is left alone, and how often it is asked once more."""

import logging

import pytest

from app.upstreams.breaker import Breaker, Failure, State


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_failures_in_a_row_open_it_one_turn_tries_and_an_answer_closes_it(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    breaker = Breaker("u", failures=2, pause=30, clock=clock)
    breaker.failure(kind="unreached")
    breaker.success()
    breaker.failure(kind="unreached")
    assert (breaker.state, breaker.allow()) == ("closed", 0)
    with caplog.at_level(logging.WARNING, "am_proxy"):
        breaker.failure(kind="unreached")
        assert (breaker.state, breaker.allow()) == ("open", 30)
        clock.now = 29.5
        assert breaker.allow() == 1
        clock.now = 30
        assert (breaker.allow(), breaker.state) == (0, "half-open")
        assert breaker.allow() >= 1, "only one turn tries"
        breaker.failure(kind="unreached")
        assert (breaker.state, breaker.allow()) == ("open", 30)
        clock.now = 60
        assert breaker.allow() == 0
        breaker.success()
    assert (breaker.state, breaker.allow()) == ("closed", 0)
    result = [record.fields["breaker"] for record in caplog.records]  # type: ignore[attr-defined]
    assert result == ["open", "half-open", "open", "half-open", "closed"]


def test_a_try_that_nobody_waited_for_is_another_turns() -> None:
    clock = Clock()
    breaker = Breaker("u", failures=1, pause=30, clock=clock)
    breaker.failure(kind="unreached")
    clock.now = 30
    assert breaker.allow() == 0
    breaker.release()
    assert (breaker.allow(), breaker.state) == (0, "half-open")


def test_without_a_limit_it_never_opens() -> None:
    breaker = Breaker("u", failures=0)
    for _ in range(1000):
        breaker.failure(kind="unreached")
    assert breaker.allow() == 0


def test_asking_again_is_bounded_by_a_tenth_of_all_turns() -> None:
    breaker = Breaker("u", retries=1)
    again = 0
    for _ in range(1000):
        breaker.allow()
        again += breaker.may_ask_again()
    assert 100 <= again <= 106


def test_one_caller_cannot_spend_the_tokens_of_another() -> None:
    breaker = Breaker("u", retries=1, several_callers=True)

    def tries(*owners: str) -> int:
        again = 0
        for owner in owners:
            breaker.allow(owner)
            again += breaker.may_ask_again(owner)
        return again

    assert tries(*["key:mallory"] * 100) <= 11
    assert tries("key:alice", "key:bob") == 2
    assert tries("guests") == 1


def failing(breaker: Breaker, *owners: str) -> None:
    for owner in owners:
        breaker.failure(owner, kind="failed")


def test_one_callers_failures_never_open_it_nor_those_of_two() -> None:
    breaker = Breaker("u", failures=10)
    failing(breaker, *["mallory", "eve"] * 500)
    assert breaker.allow() == 0


def test_failures_of_most_callers_open_it() -> None:
    breaker = Breaker("u", failures=4)
    failing(breaker, "alice", "bob", "bob")
    assert breaker.allow() == 0, "too few"
    failing(breaker, "carol")
    assert breaker.allow() > 0


def test_failures_of_some_callers_do_not_open_it_for_the_others() -> None:
    breaker = Breaker("u", failures=4)
    for _ in range(200):
        failing(breaker, "alice", "mallory", "bob", "mallory")
        for owner in ("alice", "bob", "carol"):
            breaker.success(owner)
    assert breaker.state == "closed"


def test_the_turn_that_tries_closes_it_by_any_answer_and_opens_it_by_none() -> None:
    clock = Clock()
    breaker = Breaker("u", failures=2, pause=30, clock=clock)
    rows: tuple[tuple[Failure, State], ...] = (("unreached", "open"), ("unavailable", "open"), ("failed", "closed"))
    for kind, state in rows:
        breaker.failure(kind="unreached")
        breaker.failure(kind="unreached")
        assert breaker.state == "open"
        clock.now += 30
        assert breaker.allow() == 0
        breaker.failure("", kind=kind)
        assert breaker.state == state
    breaker.failure(kind="unreached")
    assert breaker.state == "closed", "a row begins anew"


def test_what_is_remembered_is_bounded_however_many_failures_are_wanted() -> None:
    breaker = Breaker("u", failures=10**9)
    failing(breaker, *[f"caller{number}" for number in range(500)])
    assert breaker.state == "open"


A, M = "alice", "mallory"
OUTAGES = {
    "not reached by one caller": ([(M, "m", "unreached")] * 4, "open"),
    "not reached, other outages between": (
        [(M, "m", kind) for kind in ("unreached", "unavailable", "unreached") * 2],
        "open",
    ),
    "unavailable to one caller": ([(M, "m", "unavailable")] * 50, "closed"),
    "unavailable to one caller, and once to another": (
        [(M, "m", "unavailable")] * 50 + [(A, "m", "unavailable")],
        "closed",
    ),
    "unavailable to two": ([(M, "m", "unavailable"), (A, "m", "unavailable")] * 2, "open"),
    "unavailable to two under one name, answered under another": (
        [(A, "good", None)] + [(M, "bad", "unavailable"), (A, "bad", "unavailable")] * 3,
        "closed",
    ),
    "unavailable to two under most names": (
        [(A, "good", None), *((owner, name, "unavailable") for owner in (A, M) for name in ("bad", "worse"))],
        "open",
    ),
    "answered between": ([(M, "m", "unavailable"), (A, "m", "unavailable"), (A, "m", None)] * 9, "closed"),
}


def report_turns(breaker: Breaker, turns: list[tuple[str, str, Failure | None]]) -> None:
    for owner, model, kind in turns:
        if kind is None:
            breaker.success(owner, model)
        else:
            breaker.failure(owner, model, kind=kind)


@pytest.mark.parametrize("name", OUTAGES)
def test_on_a_server_with_several_callers_one_alone_opens_it_only_where_no_connection_can_be_made(name: str) -> None:
    turns, state = OUTAGES[name]
    breaker = Breaker("u", failures=4, several_callers=True)
    report_turns(breaker, turns)  # type: ignore[arg-type]
    assert breaker.state == state


def opened(clock: Clock) -> Breaker:
    """Opened by two callers, and its pause is over."""
    breaker = Breaker("u", failures=2, pause=30, several_callers=True, clock=clock)
    report_turns(breaker, [(M, "m", "unavailable"), (A, "m", "unavailable")])
    assert (breaker.allow(M), breaker.allow(A)) == (30, 30)
    clock.now += 30
    return breaker


def test_one_callers_try_keeps_nobody_else_from_trying() -> None:
    breaker = opened(Clock())
    assert (breaker.allow(M), breaker.allow(M), breaker.allow(A)) == (0, 5, 0)
    breaker.success(A)
    assert (breaker.state, breaker.allow(M)) == ("closed", 0)


def test_one_callers_try_in_vain_keeps_only_that_caller_from_another() -> None:
    clock = Clock()
    breaker = opened(clock)
    for _ in range(3):
        assert breaker.allow(M) == 0
        clock.now += 6
        breaker.failure(M, "slow", kind="unavailable")
        assert breaker.allow(M) == 30
        clock.now += 30
    assert breaker.allow(A) == 0
    breaker.failure(A, "m", kind="unreached")
    assert (breaker.allow(A), breaker.allow("carol")) == (30, 30), "that nobody reaches it is true for all"


def test_a_try_that_lasts_long_keeps_its_caller_from_another_for_seconds_only() -> None:
    clock = Clock()
    breaker = Breaker("u", failures=1, pause=30, clock=clock)
    breaker.failure(kind="unreached")
    clock.now = 30
    assert (breaker.allow(), breaker.allow()) == (0, 5)
    clock.now = 35
    assert breaker.allow() == 0


def test_a_turn_from_before_the_opening_is_no_try() -> None:
    breaker = opened(Clock())
    assert breaker.allow(A) == 0
    breaker.failure(M, "m", kind="unreached")
    assert breaker.state == "half-open"
