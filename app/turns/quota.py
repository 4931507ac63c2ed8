"""How much of one thing callers may hold: in all, each owner, and all guests together. Counted per process.

Guests are callers whose key is none of ours. Anybody can invent another one, so that a share for each of them would
bound nothing: together they hold half of all at most. Where no keys are configured all callers are one, whose only
limit is that of the process.
"""

from typing import Final

from app.protocol.problems import Problem
from app.settings import Key

PAUSE: Final = 2
"""Seconds after which it may be worth asking again."""


class Quota:
    """Counts connections, bytes or whatever else is held for a caller. Whoever takes some gives it back."""

    def __init__(self, in_all: int, per_owner: int) -> None:
        self._in_all = in_all
        self._per_owner = per_owner
        self._held: dict[str, int] = {}
        """By owner; who holds nothing is not in it."""
        self._sum = 0
        self._guests = 0

    def follow(self, in_all: int, per_owner: int) -> None:
        """Other limits hold from now on. What is held stays held."""
        self._in_all = in_all
        self._per_owner = per_owner

    def refusal(self, things: str, amount: int = 1) -> Problem:
        """Why not so much more could be taken of these `things`."""
        if self._sum + amount > self._in_all:
            words = f"This server has {self._in_all} {things}, and takes no more."
            return Problem(code="overloaded", message=words, retry_after=PAUSE)
        words = f"This caller has reached its limit of {things}."
        return Problem(code="rate_limit_exceeded", message=words, retry_after=PAUSE)

    def take(self, caller: Key, amount: int = 1) -> bool:
        """Whether the caller may have so much more, which then is held."""
        held = self._held.get(caller.owner, 0) + amount
        if self._sum + amount > self._in_all or (caller.owner and held > self._per_owner):
            return False
        if caller.is_guest and self._guests + amount > max(1, self._in_all // 2):
            return False
        self._count(caller, amount)
        return True

    def give_back(self, caller: Key, amount: int = 1) -> None:
        """The caller holds so much less."""
        self._count(caller, -amount)

    def _count(self, caller: Key, amount: int) -> None:
        self._sum += amount
        if caller.is_guest:
            self._guests += amount
        held = self._held.get(caller.owner, 0) + amount
        if held:
            self._held[caller.owner] = held
        else:
            self._held.pop(caller.owner, None)


class Share:
    """What one caller holds of a quota, as far as one connection took it."""

    def __init__(self, quota: Quota, caller: Key) -> None:
        self._quota = quota
        self._caller = caller

    def take(self, amount: int) -> bool:
        """Whether there may be so much more, which then is held."""
        return self._quota.take(self._caller, amount)

    def give_back(self, amount: int) -> None:
        """So much less is held."""
        self._quota.give_back(self._caller, amount)
