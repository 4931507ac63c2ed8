"""What wakes a turn that waits: a sign of life that is due, a time limit, a client that leaves, or who calls `signal`.

Cancellation with a reason is the only signal: it sets `why`, and cancels the turn's task once. The task catches it, and
sends a sign of life and waits on, or ends. A sign of life never interrupts a `send`: who is sending is not silent.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from ..settings.tables import ServerSettings, UpstreamSettings
from ..types.events import Event
from ..types.problems import Problem


class Client(Protocol):
    """Whoever waits for a response: how events reach it."""

    streams: bool
    """Whether it gets events as they come, and signs of life."""

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        """Begin the answer: warnings that are known now, and the name of the upstream, if one has answered."""
        ...

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        """These events as they are sent, with these warnings in the last of them."""
        ...

    async def send(self, data: bytes) -> None:
        """Send: it waits, and then writes all or nothing."""
        ...

    async def finish(self, data: bytes, warnings: Sequence[str]) -> None:
        """Send the last bytes of a stream, or the whole answer: warnings that were not known before."""
        ...

    async def refuse(self, problem: Problem) -> None:
        """Send a problem instead of an answer."""
        ...

    async def left(self) -> None:
        """Return when the client has left."""
        ...


_T = TypeVar("_T")

_FIRST_TICK = 0.5
"""Seconds after which the client is watched: uvicorn cancels nothing when a client leaves. Short turns never pay."""


class Why(StrEnum):
    """Why a turn's task is cancelled."""

    LIFE = "a sign of life is due"
    SILENT = "the upstream was silent too long"
    LIMIT = "the turn took too long"
    LEFT = "the client has left"
    STOPPED = "the server stops"
    INTERRUPTED = "the client wants the finished items only"
    CANCELLED = "the client wants what was written so far"


@dataclass(eq=False)
class Signals:
    """The clocks of one turn, and the signals to its task."""

    client: Client
    server: ServerSettings
    limits: UpstreamSettings
    why: Why | None = None
    """The first reason; a sign of life gives way to any other."""
    over: bool = False
    """Nothing may end the turn any more."""
    began: float = field(default_factory=time.monotonic)
    is_told: bool = False
    """The status line is out."""
    sent_at: float = field(default_factory=time.monotonic)
    """When the client got something."""
    hears: bool = False
    """An upstream answers: it may not be silent."""
    _heard_at: float = 0
    _has_news: bool = False
    """What was awaited last has brought something."""
    _waits: bool = False
    _task: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _watch: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The running task is the turn's."""
        self._task = asyncio.current_task()
        first = min(_FIRST_TICK, self.server.first_payload_wait, self.server.keep_alive)
        self._timer = asyncio.get_running_loop().call_later(first, self._tick)

    def signal(self, why: Why) -> bool:
        """Something happened. Whether it has an effect: the first reason counts; a sign of life is for who waits."""
        if self.over or self.why not in (None, Why.LIFE) or (why is Why.LIFE and not self._waits):
            return False
        pending, self.why = self.why, why
        if pending is None and self._task is not None:
            self._task.cancel()  # one for each error that is delivered
        return True

    def taken(self) -> bool:
        """Takes the signal. False: somebody else has cancelled the task, too."""
        self.why = None
        return self._task is not None and self._task.uncancel() == 0

    async def wait(self, make: Callable[[], Awaitable[_T]], live: Callable[[], Awaitable[None]]) -> _T:
        """What `make()` gives, which may be cancelled and called again; `live` sends a sign of life while it lasts."""
        if self._has_news:  # the client has got it meanwhile, however slowly it reads
            self._heard_at = time.monotonic()
        while True:
            self._waits = True
            try:
                made = await make()
                self._has_news = bool(made)  # a comment of the server is no sign of a model that writes
                return made
            except asyncio.CancelledError:
                if self.why is not Why.LIFE or not self.taken():
                    raise  # a reason, for the turn; or somebody else's
            finally:
                self._waits = False
            await live()

    def answered(self, upstream: UpstreamSettings) -> None:
        """An upstream answers: its limits hold from now on."""
        self.limits, self.hears = upstream, True
        self._heard_at = time.monotonic()
        if self._timer is not None and self._watch is not None:  # it has ticked, and knows nothing of this limit
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(0, self._tick)

    def close(self) -> None:
        """No more signals."""
        self.over = True
        for held in (self._timer, self._watch):
            if held is not None:
                held.cancel()

    def _tick(self) -> None:
        """Once in a while: watches the client, sends signs of life, and keeps the limits."""
        loop = asyncio.get_running_loop()
        if self._watch is None:
            self._watch = loop.create_task(self.client.left())
            self._watch.add_done_callback(self._gone)
        now = time.monotonic()
        listens = self._waits and self.hears  # a client that reads slowly is no silence of the upstream
        silent_at = self._heard_at + self.limits.timeout if listens else float("inf")
        limit_at = self.began + (self.limits.turn_timeout or float("inf"))
        if now >= min(silent_at, limit_at):
            self.signal(Why.SILENT if silent_at <= limit_at else Why.LIMIT)
            return
        life_at = float("inf")
        if self.client.streams:
            life_at = self.sent_at + (self.server.keep_alive if self.is_told else self.server.first_payload_wait)
            if now >= life_at:
                self.signal(Why.LIFE)
                life_at = now + self.server.keep_alive
        self._timer = loop.call_later(min(life_at, silent_at, limit_at, now + 60) - now, self._tick)

    def _gone(self, watch: "asyncio.Task[None]") -> None:
        if not watch.cancelled():
            watch.exception()
            self.signal(Why.LEFT)
