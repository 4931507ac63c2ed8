"""Quotas: how much of one thing callers may hold, in all, each owner, and all guests together. Counted per process.

Guests are callers with a key that is not configured here. Anyone can invent another one, so a share for each would
limit nothing: together they hold at most half of all. Where no keys are configured all callers are one, with the limit
of the process only.
"""

from typing import Final

from ..protocol.problems import Problem
from ..settings import Key

PAUSE: Final = 2
"""Seconds after which it may be worth asking again."""


class Quota:
    """Counts connections, bytes or other things that are held for a caller. What is taken must be given back."""

    def __init__(self, in_all: int, per_owner: int) -> None:
        self._in_all = in_all
        self._per_owner = per_owner
        self._held: dict[str, int] = {}
        """By owner; only those above zero."""
        self._sum = 0
        self._guests = 0

    def follow(self, in_all: int, per_owner: int) -> None:
        """Changes the limits. What is held stays held."""
        self._in_all = in_all
        self._per_owner = per_owner

    def refusal(self, things: str, amount: int = 1) -> Problem:
        """The problem of a request for which so many more of these `things` could not be taken."""
        if self._sum + amount > self._in_all:
            words = f"This server has {self._in_all} {things}, and takes no more."
            return Problem(code="overloaded", message=words, retry_after=PAUSE)
        words = f"This caller has reached its limit of {things}."
        return Problem(code="rate_limit_exceeded", message=words, retry_after=PAUSE)

    def take(self, caller: Key, amount: int = 1) -> bool:
        """Takes so much more for the caller, if it is within the limits; whether it is."""
        held = self._held.get(caller.owner, 0) + amount
        if self._sum + amount > self._in_all or (caller.owner and held > self._per_owner):
            return False
        if caller.is_guest and self._guests + amount > max(1, self._in_all // 2):
            return False
        self._count(caller, amount)
        return True

    def give_back(self, caller: Key, amount: int = 1) -> None:
        """Gives back so much of what the caller holds."""
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
    """A quota as one connection of a caller uses it."""

    def __init__(self, quota: Quota, caller: Key) -> None:
        self._quota = quota
        self._caller = caller

    def take(self, amount: int) -> bool:
        """Takes so much more, if it is within the limits; whether it is."""
        return self._quota.take(self._caller, amount)

    def give_back(self, amount: int) -> None:
        """Gives back so much."""
        self._quota.give_back(self._caller, amount)
