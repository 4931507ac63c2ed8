"""When an upstream is left alone, and how often it is asked once more."""

import logging

import pytest

from app.standing import Standing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_failures_in_a_row_open_it_one_turn_tries_and_an_answer_closes_it(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    standing = Standing("u", failures=2, pause=30, clock=clock)
    standing.failed(outage=True)
    standing.heard()
    standing.failed(outage=True)
    assert (standing.state, standing.enter()) == ("closed", 0)
    with caplog.at_level(logging.WARNING, "am_proxy"):
        standing.failed(outage=True)
        assert (standing.state, standing.enter()) == ("open", 30)
        clock.now = 29.5
        assert standing.enter() == 1
        clock.now = 30
        assert (standing.enter(), standing.state) == (0, "half-open")
        assert standing.enter() >= 1, "only one turn tries"
        standing.failed(outage=True)
        assert (standing.state, standing.enter()) == ("open", 30)
        clock.now = 60
        assert standing.enter() == 0
        standing.heard()
    assert (standing.state, standing.enter()) == ("closed", 0)
    told = [record.fields["breaker"] for record in caplog.records]  # type: ignore[attr-defined]
    assert told == ["open", "half-open", "open", "half-open", "closed"]


def test_a_try_that_nobody_waited_for_is_another_turns() -> None:
    clock = Clock()
    standing = Standing("u", failures=1, pause=30, clock=clock)
    standing.failed(outage=True)
    clock.now = 30
    assert standing.enter() == 0
    standing.left()
    assert (standing.enter(), standing.state) == (0, "half-open")


def test_without_a_limit_it_never_opens() -> None:
    standing = Standing("u", failures=0)
    for _ in range(1000):
        standing.failed(outage=True)
    assert standing.enter() == 0


def test_asking_again_is_bounded_by_a_tenth_of_all_turns() -> None:
    standing = Standing("u", retries=1)
    again = 0
    for _ in range(1000):
        standing.enter()
        again += standing.may_ask_again()
    assert 100 <= again <= 106


def failing(standing: Standing, *owners: str) -> None:
    for owner in owners:
        standing.failed(owner, outage=False)


def test_one_callers_failures_never_open_it_nor_those_of_two() -> None:
    standing = Standing("u", failures=10)
    failing(standing, *["mallory", "eve"] * 500)
    assert standing.enter() == 0


def test_failures_of_most_callers_open_it() -> None:
    standing = Standing("u", failures=4)
    failing(standing, "alice", "bob", "bob")
    assert standing.enter() == 0, "too few"
    failing(standing, "carol")
    assert standing.enter() > 0


def test_failures_of_some_callers_do_not_open_it_for_the_others() -> None:
    standing = Standing("u", failures=4)
    for _ in range(200):
        failing(standing, "alice", "mallory", "bob", "mallory")
        for owner in ("alice", "bob", "carol"):
            standing.heard(owner)
    assert standing.state == "closed"


def test_the_turn_that_tries_closes_it_by_any_answer_and_opens_it_by_none() -> None:
    clock = Clock()
    standing = Standing("u", failures=2, pause=30, clock=clock)
    for outage, state in ((True, "open"), (False, "closed")):
        standing.failed(outage=True)
        standing.failed(outage=True)
        assert standing.state == "open"
        clock.now += 30
        assert standing.enter() == 0
        standing.failed("mallory", outage=outage)
        assert standing.state == state
    standing.failed(outage=True)
    assert standing.state == "closed", "a row begins anew"


def test_what_is_remembered_is_bounded_however_many_failures_are_wanted() -> None:
    standing = Standing("u", failures=10**9)
    failing(standing, *[f"caller{number}" for number in range(500)])
    assert standing.state == "open"
