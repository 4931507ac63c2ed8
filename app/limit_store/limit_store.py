"""Asks the store whether turns may begin, and goes on without it while it does not answer.

Theory of operation
-------------------
There is one connection, and one call under way on it. Turns that arrive meanwhile wait for the next call, which decides
about all of them: a turn waits for one round trip, or for the rest of another and its own. What has ended is reported
with the next call. Each call says how many turns of an owner run here, not what has changed, so a call that is lost
does no lasting harm.

    reachable      the store decides. Every `REFRESH` seconds all counts are sent again: a copy that is not heard of for
                   `LEASE` seconds counts no longer.
    not reachable  each process applies its own limits, and no turn waits. It is tried again after a while that grows
                   from `FIRST_PAUSE` to `LONGEST_PAUSE`. When it answers it gets all counts, then it decides again.

A call that takes longer than `WAIT` makes the store unreachable, and so does any other answer than expected. If this
process itself was busy for that long, the answer gets the same time once more.
"""

import asyncio
import os
import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, Protocol, Unpack

from ..settings import SharedLimits
from .lease import Lease
from .outages import Outages
from .shared_breakers import SharedBreakers
from .store_batch import BatchReply, Question, QuestionFields, StoreBatch, arguments_of, hashed, keys_of, read_reply

LEASE: Final = 10.0
REFRESH: Final = 2.0
WAIT: Final = 0.1
"""Longest time, in seconds, of one call."""
LATE: Final = 0.05
"""If the timer of a call is later than this, this process was busy."""
CONNECTING: Final = 2.0
"""Longest time for connecting. No turn waits for that, except that the server starts after the first try."""
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 5.0
STEADY: Final = 10.0
"""Seconds after which a store that answers again is trusted: then pauses begin with the shortest again."""
MOST: Final = 128
"""Turns, and counts, in one call."""


class AnyConnection(Protocol):
    """What connects to the store."""

    async def open(self) -> None:
        """Connects, and loads the script."""

    async def run(self, keys: Sequence[str], arguments: Sequence[str]) -> Any:
        """What the script returns."""

    async def leave(self, prefix: str, copy: str) -> None:
        """Says that this copy ends."""

    async def close(self) -> None:
        """Closes the connection."""


class LimitStore:
    """The store as one copy uses it."""

    def __init__(
        self, options: SharedLimits, connection: AnyConnection, reason_of: Callable[[Exception], str] = repr
    ) -> None:
        self.options = options
        self.reachable = False
        self.outages = Outages(options.store)
        self.breakers = SharedBreakers(self._call_soon)
        self.connections = 0
        """How often a connection was made."""
        self._connection = connection
        self._reason_of = reason_of
        self._copy = os.urandom(8).hex()
        self._users = 0
        self._waiting: deque[Lease] = deque()
        self._sent: list[Lease] = []
        """The leases in the call that is under way."""
        self._running: Counter[str] = Counter()
        """Owner -> turns that run here and count in the store."""
        self._guests = 0
        self._changed: dict[str, None] = {}
        """Owners whose number of turns the store does not know yet, in order."""
        self._is_due = False
        """Whether a call is to be made even if there is nothing to say."""
        self._calls: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        """Whether the first try to connect has ended."""
        self._failed = asyncio.Event()

    def ask(self, *, owner: str, **question: Unpack[QuestionFields]) -> Lease:
        """Asks whether a turn of this owner may begin. The lease must be given back."""
        lease = Lease(self, Question(hashed(owner), **question))
        if self.reachable:
            self._waiting.append(lease)
            self._call_soon()
        else:
            self._decide_alone(lease)
        return lease

    def count(self, question: Question, change: int) -> None:
        """So many turns more run here for this owner."""
        if not (question.concurrency or self.options.max_turns):
            return
        self._running[question.owner] += change
        if not self._running[question.owner]:
            del self._running[question.owner]
        self._guests += change * question.is_guest
        if change < 0 and self.reachable:  # the store has counted those that it admitted
            self.correct(question)

    def correct(self, question: Question) -> None:
        """Sends the number of turns of this owner with the next call."""
        self._changed[question.owner] = None
        self._call_soon()

    def hold(self) -> None:
        """One application more uses it. Connects in the background if there is an event loop; otherwise see `start`."""
        self._users += 1
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._keep()

    async def start(self) -> None:
        """Connects, and returns after the first try, so that the first turn finds the store."""
        self._keep()
        await self._tried.wait()

    async def close(self) -> None:
        """One application less uses it. After the last one, it says goodbye to the store and closes the connection."""
        self._users -= 1
        if self._users > 0:
            return
        was_reachable, self.reachable = self.reachable, False
        for task in (self._keeper, self._calls):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        self._decide_all_alone()
        if was_reachable:
            await self._try(self._connection.leave(self.options.prefix, self._copy), WAIT)
        await self._try(self._connection.close(), WAIT)

    def _keep(self) -> None:
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._keep_connected())

    async def _keep_connected(self) -> None:
        pause = FIRST_PAUSE
        await self._connect()
        self._tried.set()
        while True:
            since = time.monotonic()
            while self.reachable:
                await self._refresh()
            if time.monotonic() - since > STEADY:
                pause = FIRST_PAUSE
            await self._try(self._connection.close(), WAIT)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 — so that copies do not come at once
            pause = min(2 * pause, LONGEST_PAUSE)
            await self._connect()

    async def _refresh(self) -> None:
        """Sends all counts after a while, or returns when the store has failed."""
        self._failed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(REFRESH):  # `wait_for` may miss that this task is cancelled
                await self._failed.wait()
        self._changed.update(dict.fromkeys(self._running))
        self._is_due = True
        self._call_soon()

    async def _connect(self) -> None:
        error = await self._try(self._open(), CONNECTING)
        if error is not None:
            self.outages.begin(self._reason_of(error))
            return
        self.reachable = True
        self.connections += 1
        self._is_due = True
        self.breakers.repeat()
        self.outages.end()
        self._call_soon()

    async def _open(self) -> None:
        """Connects, and sees whether the store can write: what it counts must be there before it decides."""
        await self._connection.open()
        await self._connection.leave(self.options.prefix, self._copy)
        self._copy = os.urandom(8).hex()  # a store that hung may have run the call that was given up
        self._changed = dict.fromkeys(self._running)
        await self._call(StoreBatch(self._take_changed(), (), {}))

    async def _try(self, work: Awaitable[None], seconds: float) -> Exception | None:
        """The error of this work, if there is one."""
        try:
            async with asyncio.timeout(seconds):
                await work
        except Exception as error:  # noqa: BLE001 — whatever a server or the library does wrong, turns go on
            return error
        return None

    def _call_soon(self) -> None:
        if self.reachable and self._calls is None:
            self._calls = asyncio.get_running_loop().create_task(self._make_calls())

    async def _make_calls(self) -> None:
        try:
            while self.reachable and (self._waiting or self._changed or self._is_due or self.breakers.news):
                await self._next_call()
        except Exception as error:  # noqa: BLE001 — as above
            self._fail(self._reason_of(error))
        finally:
            self._calls = None

    async def _next_call(self) -> None:
        self._is_due = False
        self._sent = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        batch = StoreBatch(self._take_changed(), [lease.question for lease in self._sent], self.breakers.take_news())
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(WAIT, self._expire, loop.time() + WAIT)
        try:
            reply = await self._call(batch)
        finally:
            if self._timer is not None:  # `_expire` may have replaced it
                self._timer.cancel()
        sent, self._sent = self._sent, []
        for lease, decision in zip(sent, reply.decisions, strict=True):
            lease.decide(decision)
        if reply.is_new:  # it has forgotten everything
            self._changed.update(dict.fromkeys(self._running))
            self.breakers.repeat()
        self.breakers.hear(reply.open_for)

    async def _call(self, batch: StoreBatch) -> BatchReply:
        options = self.options
        running = (self._running.total(), self._guests)
        arguments = arguments_of(batch, self._copy, LEASE, options.max_turns or 0, running)
        value = await self._connection.run(keys_of(options.prefix, batch), arguments)
        return read_reply(value, len(batch.questions))

    def _take_changed(self) -> dict[str, int]:
        owners = list(islice(self._changed, MOST))
        for owner in owners:
            del self._changed[owner]
        return {owner: self._running[owner] for owner in owners}

    def _expire(self, due: float) -> None:
        """The call has taken too long, unless this process was busy."""
        loop = asyncio.get_running_loop()
        if loop.time() - due > LATE:
            self._timer = loop.call_later(WAIT, self._time_out)
        else:
            self._time_out()

    def _time_out(self) -> None:
        if self._calls is not None:
            self._calls.cancel()
        self._fail(self._reason_of(TimeoutError()))

    def _fail(self, reason: str) -> None:
        self.reachable = False
        self.outages.begin(reason)
        self._decide_all_alone()
        self._failed.set()

    def _decide_all_alone(self) -> None:
        for lease in (*self._sent, *self._waiting):
            self._decide_alone(lease)
        self._sent.clear()
        self._waiting.clear()

    def _decide_alone(self, lease: Lease) -> None:
        self.outages.decided_alone += 1
        lease.decide(None)
