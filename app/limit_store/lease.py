"""One turn that the store decides about, and that counts there while it runs."""

import asyncio
from typing import Protocol

from .store_batch import Decision, Question


class LeaseCounts(Protocol):
    """Counts the turns that run here."""

    def count(self, question: Question, change: int) -> None:
        """So many turns more run here for this owner."""

    def correct(self, question: Question) -> None:
        """The store has another number of turns of this owner."""


class Lease:
    """The question about a turn, then its answer, and the turn's place in the counts until it is given back."""

    __slots__ = ("_counts", "_is_counted", "_is_over", "_waiter", "decision", "is_decided", "question")

    def __init__(self, counts: LeaseCounts, question: Question) -> None:
        self.question = question
        self.is_decided = False
        self.decision: Decision | None = None
        """The store's decision, once there is one; None if this process has to decide by itself."""
        self._counts = counts
        self._waiter: asyncio.Future[None] | None = None
        self._is_counted = False
        self._is_over = False

    async def decided(self) -> Decision | None:
        """The decision, when it is there."""
        if not self.is_decided:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.decision

    def decide(self, decision: Decision | None) -> None:
        """The store has decided, or cannot."""
        self.is_decided = True
        self.decision = decision
        if decision is None or decision.verdict == "admitted":
            if not self._is_over:
                self._is_counted = True
                self._counts.count(self.question, 1)
            elif decision is not None:
                self._counts.correct(self.question)  # it has counted a turn that is over
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def give_back(self) -> None:
        """The turn is over, or was not begun. Calling it again does nothing."""
        self._is_over = True
        if self._is_counted:
            self._is_counted = False
            self._counts.count(self.question, -1)
