"""How much of one thing a caller may hold."""

from app.settings import Key, Secret
from app.turns.quota import Quota

ALICE, BOB = (Key(name, b"k") for name in ("alice", "bob"))
ANYONE = Key("anyone", b"")


def guest(number: int) -> Key:
    return Key("guest", b"", is_guest=True, own=Secret(f"sk-{number}"))


def test_an_owner_holds_its_share_and_all_together_no_more_than_there_is() -> None:
    quota = Quota(10, 6)
    assert [quota.take(ALICE, 4), quota.take(ALICE, 3), quota.take(ALICE, 2)] == [True, False, True]
    assert [quota.take(BOB, 5), quota.take(BOB, 4)] == [False, True]
    assert quota.refusal("things").code == "overloaded"
    quota.give_back(ALICE, 6)
    assert [quota.take(BOB, 2), quota.take(BOB)] == [True, False]
    assert quota.refusal("things").code == "rate_limit_exceeded"


def test_guests_hold_half_of_all_together_however_many_they_are() -> None:
    quota = Quota(10, 4)
    assert [quota.take(guest(number), 2) for number in range(4)] == [True, True, False, False]
    assert quota.take(guest(9))
    assert [quota.take(ALICE, 4), quota.take(guest(8))] == [True, False]


def test_without_keys_the_limit_of_the_process_is_the_only_one() -> None:
    quota = Quota(10, 1)
    assert [quota.take(ANYONE, 10), quota.take(ANYONE)] == [True, False]


def test_what_is_held_counts_under_other_limits_and_is_forgotten_when_it_is_given_back() -> None:
    quota = Quota(10, 10)
    assert quota.take(ALICE, 8)
    quota.follow(8, 2)
    assert not quota.take(BOB)
    quota.give_back(ALICE, 8)
    assert [quota.take(ALICE, 2), quota.take(ALICE)] == [True, False]
    quota.give_back(ALICE, 2)
    assert quota._held == {}
