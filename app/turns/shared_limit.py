"""What a turn may use of the limits that all copies share: the store is asked, and its decision awaited."""

from typing import TYPE_CHECKING, Final, assert_never

from ..protocol.problems import Problem, ProblemError
from ..settings import Key
from .rate_limit import RateLimit, too_many, too_often

if TYPE_CHECKING:
    from ..limit_store.lease import Lease
    from ..limit_store.limit_store import LimitStore
    from ..limit_store.store_batch import Decision

PAUSE: Final = 2
"""Seconds after which it may be worth asking full servers again."""


class SharedLimit:
    """The question to the store about one turn, and what follows from the answer."""

    def __init__(self, caller: Key, rate_limit: RateLimit, store: "LimitStore", lease: "Lease") -> None:
        self._caller = caller
        self._rate_limit = rate_limit
        self._store = store
        self._lease = lease
        self._is_decided = lease.is_decided
        """Whether it is known what follows from the answer: at once, if the store cannot be asked."""

    @classmethod
    def of(cls, caller: Key, rate_limit: RateLimit, store: "LimitStore", *, shares: bool) -> "SharedLimit | None":
        """Asks about one more turn of this caller; None if nothing that the store counts limits it.

        If the store cannot be asked, the limits of this process are applied at once. Raises `ProblemError` for one too
        many.
        """
        if caller.requests_per_minute is None and caller.concurrency is None and store.options.max_turns is None:
            return None
        lease = store.ask(
            owner=caller.owner,
            requests_per_minute=caller.requests_per_minute or 0,
            concurrency=caller.concurrency or 0,
            is_guest=caller.is_guest,
            shares=shares and bool(caller.owner) and caller.concurrency is None,
            used=rate_limit.unheard(caller, store.connections),
        )
        if lease.is_decided:
            try:
                rate_limit.take(caller)
            except ProblemError:
                lease.give_back()
                raise
        else:
            rate_limit.running += 1
        return cls(caller, rate_limit, store, lease)

    async def decided(self) -> None:
        """Waits for the decision. Raises `ProblemError` for a turn that may not begin."""
        if self._is_decided:
            return
        decision = await self._lease.decided()
        self._is_decided = True
        if decision is None:
            self._decide_alone()
            return
        if self._caller.requests_per_minute is not None:
            self._rate_limit.hear(decision.used, self._store.connections)
        refusal = self._refusal(decision)
        if refusal is not None:
            raise refusal

    def give_back(self) -> None:
        """The turn is over. Calling it again does nothing."""
        self._lease.give_back()

    def _decide_alone(self) -> None:
        self._rate_limit.running -= 1  # `take` counts it
        try:
            self._rate_limit.take(self._caller)
        except ProblemError:
            self._rate_limit.running += 1  # until its slot is given back
            raise

    def _refusal(self, decision: "Decision") -> ProblemError | None:
        most = self._store.options.max_turns or 0
        match decision.verdict:
            case "admitted":
                return None
            case "rate":
                return too_often(self._caller, decision.wait)
            case "concurrency":
                return too_many(self._caller)
            case "full":
                return _overloaded(f"All copies of this server run {most} turns at once, and no more.")
            case "guests_full":
                words = "turns at once for callers without a key of its own, and no more."
                return _overloaded(f"All copies of this server run {max(1, most // 2)} {words}")
            case "share":
                words = "This caller runs as many turns at once as are free; these are for others."
                return ProblemError(Problem(code="rate_limit_exceeded", message=words, retry_after=PAUSE))
            case other:
                assert_never(other)


def _overloaded(words: str) -> ProblemError:
    return ProblemError(Problem(code="overloaded", message=words, retry_after=PAUSE))
