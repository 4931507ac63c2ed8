"""Who owns limits, seals and remembered turns."""

import pytest

from app.settings import Key, Secret

_DIGEST = b"x" * 32
_ALICE = Key(name="alice", digest=_DIGEST)
_STRANGER = Key(name="guest", digest=b"", is_guest=True, own=Secret("sk-stranger"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (_ALICE, Key(name="alice", digest=b"y" * 32), True),  # a key that was renewed
        (_ALICE, Key(name="bob", digest=_DIGEST), False),
        (_STRANGER, Key(name="guest", digest=b"", is_guest=True, own=Secret("sk-stranger")), True),
        (_STRANGER, Key(name="guest", digest=b"", is_guest=True, own=Secret("sk-another")), False),
        (_STRANGER, Key(name="guest", digest=_DIGEST), False),
        (_STRANGER, Key(name=_STRANGER.owner, digest=_DIGEST), False),
        (Key(name="anyone", digest=b""), Key(name="anyone", digest=_DIGEST), False),
    ],
)
def test_two_callers_own_the_same_things_only_if_they_are_one(one: Key, other: Key, *, same: bool) -> None:
    assert (one.owner == other.owner) is same


def test_an_owner_does_not_show_the_callers_key() -> None:
    assert "stranger" not in _STRANGER.owner
