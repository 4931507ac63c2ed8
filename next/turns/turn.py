"""One response in one task, from the ask to the last event.

One task, one writer, and cancellation with a reason as the only signal: a timer (signs of life, time limits), the
watcher of the client, and whoever calls `signal` set `why` and cancel once; the loop catches it, and sends a sign of
life and waits on, or finishes as the tables of the emitter say. An answer is an object whose `next` may be cancelled
and called again. Asking (retries, fallbacks, the first payload) runs in a task of its own, which a sign of life does
not disturb. A sign of life never interrupts a `send`: who is sending is not silent. What was not sent when a reason
came goes out before the last events.

Before the first byte a failure is a refusal with an HTTP status; after it, it is `response.failed`. The slot is free
before the last event is sent, because clients ask again at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Protocol, TypeVar

from msgspec.structs import replace

from ..catalog import Route
from ..dialects.turn import DialectTurn
from ..emitter.response import Lifecycle
from ..emitter.rules import ENDINGS, FOR_CODEX, Reason
from ..fetching.attachments import fetched
from ..history.compaction import Conversation, Summary
from ..history.sealing import Sealer
from ..observe.log import log
from ..settings.tables import ServerSettings
from ..types.events import Event, LastEvent
from ..types.problems import Problem, ProblemError, Warning, refuse
from ..types.request import Request
from ..types.response import Response, Usage
from ..upstreams.errors import explained, too_slow
from ..upstreams.port import Answer, UpstreamError
from .attempts import Asked, first_payload
from .summary import most_asked, summarize

_T = TypeVar("_T")

_FIRST_TICK = 0.5
"""Seconds after which the client is watched: uvicorn cancels nothing when a client leaves. Short turns never pay."""
_FINISH = 10
"""Seconds to send the last events to a client that reads slowly."""
_TOLD = 15
"""Warnings in the message of a strict server."""
_INTERNAL = "This server failed. Its log says why; the request id is {}."
_NO_PART = " No part of the answer is returned."
STOPPED = Problem(code="overloaded", message="This server is stopping. Please try again in 1s.", retry_after=1)


Ending = list[Event] | Problem
"""How a turn ends: with its last events; or, where nothing was sent, with a refusal."""


class Why(StrEnum):
    """Why a turn's task is cancelled."""

    LIFE = "a sign of life is due"
    SILENT = "the upstream was silent too long"
    LIMIT = "the turn took too long"
    LEFT = "the client has left"
    STOPPED = "the server stops"
    INTERRUPTED = "the client wants the finished items only"
    CANCELLED = "the client wants what was written so far"


class Client(Protocol):
    """Whoever waits for a response: how events reach it."""

    streams: bool
    """Whether it gets events as they come, and signs of life."""

    async def start(self, warnings: Sequence[Warning], upstream: str) -> None:
        """Begin the answer: warnings that are known now, and the name of the upstream, if one has answered."""
        ...

    def encode(self, events: Sequence[Event], warnings: Sequence[Warning] = ()) -> bytes:
        """These events as they are sent, with these warnings in the last of them."""
        ...

    async def send(self, data: bytes) -> None:
        """Send: it waits, and then writes all or nothing."""
        ...

    async def finish(self, data: bytes, warnings: Sequence[Warning]) -> None:
        """Send the last bytes of a stream, or the whole answer: warnings that were not known before."""
        ...

    async def refuse(self, problem: Problem) -> None:
        """Send a problem instead of an answer."""
        ...

    async def left(self) -> None:
        """Return when the client has left."""
        ...


class Turn:
    """One response. Its fields are what the log and the record need of it."""

    def __init__(
        self,
        request: Request,
        warnings: Sequence[Warning],
        routes: Sequence[Route],
        client: Client,
        *,
        server: ServerSettings,
        request_id: str,
        for_codex: bool,
        may_know: bool,
        watched: bool,
        released: Callable[[], None],
        ended: Callable[["Turn"], None],
        conversation: Conversation | None = None,
        sealer: Sealer | None = None,
        seal_always: bool = False,
    ) -> None:
        """`may_know`: the client runs this server, and is told why an upstream failed.

        `released` frees the turn's slot, `ended` is called when all is over.
        `conversation`: it may have to be summarized. `sealer` is the caller's, `seal_always` whether it also seals what
        the client does not ask for.
        """
        self.request = request
        self.request_id = request_id
        self.warnings = list(warnings)
        self._request_warnings = warnings
        self.began = time.monotonic()
        self.first_at: float | None = None
        """When the first payload came."""
        self.retries = 0
        self.cause = ""
        """Why it failed, or was asked again, for the operator."""
        self.problem: Problem | None = None
        self.route = routes[0]
        self.dialect: DialectTurn | None = None
        self.finish = "left"
        """How it ended: the status of the response, or `refused` or `left`."""
        self.sent: list[bytes] | None = [] if watched else None
        """What the client got, for the record."""
        self.pieces: list[bytes] | None = [] if watched else None
        """What upstreams sent, for the record."""
        self.answer: Answer | None = None
        self._routes: Sequence[Route] = routes
        self._client = client
        self._server = server
        self._for_codex = for_codex
        self._may_know = may_know
        self._released = released
        self._ended = ended
        self._conversation = conversation
        self._sealer = sealer
        self._seal_always = seal_always
        self._asked = request
        """What the model is asked: after a summary, this is not what was posted."""
        self._lifecycle = Lifecycle(request)
        self._asking: asyncio.Task[Asked] | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watch: asyncio.Task[None] | None = None
        self._why: Why | None = None
        self._waits = False
        self._over = False
        self._untold: list[Event] = []
        """Events that were made, and not encoded."""
        self._unsent = b""
        """Bytes that were encoded, and not sent."""
        self._late: list[Warning] = []
        """Warnings of a route that was found after the status line."""
        self._started = False
        self._sent_at = self._heard_at = self.began

    @property
    def usage(self) -> Usage | None:
        """The tokens that were used."""
        return self._lifecycle.used(self.dialect.emitter.usage if self.dialect else None)

    # Signals: from the timer, the watcher and outside; never from the turn's own task

    def signal(self, why: Why) -> None:
        """Something happened. The first reason counts; a sign of life is only for who waits."""
        if self._over or self._why not in (None, Why.LIFE) or (why is Why.LIFE and not self._waits):
            return
        pending, self._why = self._why, why
        if pending is None and self._task is not None:
            self._task.cancel()  # one for each error that is delivered

    async def run(self) -> None:
        """The whole turn."""
        self._task = asyncio.current_task()
        first = min(_FIRST_TICK, self._server.first_payload_wait, self._server.keep_alive)
        self._timer = asyncio.get_running_loop().call_later(first, self._tick)
        try:
            if (ending := await self._ending()) is not None:
                async with asyncio.timeout(_FINISH):
                    await self._finish(ending)
        except TimeoutError:
            self.finish = "left"
        finally:
            self._ended(self)

    async def _ending(self) -> Ending | None:
        """How the turn ends; None: the client has left. Behind it nothing of the turn is held any more."""
        try:
            asked = await self._answered()
            return await self._read(asked, told=True) if isinstance(asked, Asked) else asked
        except asyncio.CancelledError:
            why = self._why
            if why is None or not self._taken():
                raise  # somebody else's
            return None if why is Why.LEFT else self._stopped(why)
        except UpstreamError as error:
            return self._broke(error)
        except ProblemError as error:
            return self._failed(error.problem)
        except Exception as error:  # a fault of ours: the response fails, the stream is not cut
            log.exception("turn %s", self.request_id)
            self.cause = f"{type(error).__name__}: {error}"
            message = _INTERNAL.format(self.request_id)
            return self._failed(Problem(code="internal_error", message=message))
        finally:
            self._over = True
            self._close()
            self._released()

    # Asking and answering

    async def _answered(self) -> Asked | list[Event]:
        """The answer that is for the client; or its last events, if a summary is all it wants.

        Raises `UpstreamError`, or `ProblemError` for a bad request.
        """
        conversation = self._conversation
        if conversation is not None and conversation.threshold is None:
            summary = await self._summary(conversation)
            endings = FOR_CODEX if self._for_codex else ENDINGS
            item = self._lifecycle.add(conversation.item(summary))
            return [*self._begun(), *item, self._lifecycle.last(endings[summary.ending], [], None)]
        turn = await self._made(self._routes[0])
        self.warnings += turn.warnings
        if conversation is not None and self._routes[0].dialect.tokens(turn.body) > (conversation.threshold or 0):
            turn = await self._summarized(conversation, turn)
        asked = await self._ask(turn, self._made)
        self.dialect = asked.turn
        warnings = [*self._request_warnings, *asked.turn.warnings]
        if not self._started and self._lifecycle.next_index == 0:
            self.warnings = warnings
        self._late = [warning for warning in warnings if warning not in self.warnings]
        return asked

    async def _summarized(self, conversation: Conversation, turn: DialectTurn) -> DialectTurn:
        """The turn that goes on from a summary; or this one, if there can be none."""
        if (warning := conversation.split(most_asked(self._routes[0]))) is not None:
            turn.warnings.append(warning)
            self.warnings.append(warning)
            refuse_if_strict(self._server, [warning])
            return turn
        item, self._asked = conversation.going_on(await self._summary(conversation))
        self._routes = [self.route]
        events = [*self._begun(), *self._lifecycle.add(item)]
        if self._client.streams:
            await self._put(self._client.encode(events))
        return await self._made(self.route)

    async def _summary(self, conversation: Conversation) -> Summary:
        """The summary that a model writes. The client gets signs of life."""

        async def made(request: Request, route: Route) -> DialectTurn:
            return await self._turn(request, route, Lifecycle(request))

        async def ask(request: Request, turn: DialectTurn) -> Response:
            asked = await self._ask(turn, partial(made, request))
            if conversation.threshold is None and not self._started:
                self.warnings = [*self._request_warnings, *asked.turn.warnings]
            try:
                if self._client.streams and (begun := self._begun()):
                    await self._put(self._client.encode(begun))
                events = await self._read(asked, told=False)
            finally:
                self._lifecycle.used_before = asked.turn.emitter.usage
                asked.answer.close()
                self.answer = None
            if asked.turn.emitter.problem is not None:
                raise UpstreamError(asked.turn.emitter.problem)
            last = events[-1]
            assert isinstance(last, LastEvent)  # noqa: S101 — what `_read` returns
            return last.response

        return await summarize(conversation, self._routes[0], made, ask)

    async def _ask(self, turn: DialectTurn, make: Callable[[Route], Awaitable[DialectTurn]]) -> Asked:
        """The first payloads of the first upstream that sends one, to this turn or to one that `make` makes."""
        first = first_payload(self._routes, turn, make, self._retried, self.pieces)
        self._asking = asking = asyncio.ensure_future(first)
        await self._wait(lambda: asyncio.wait((asking,)))
        asked = asking.result()
        self._asking = None
        self.route, self.answer = asked.route, asked.answer
        self.first_at = self._heard_at = time.monotonic()
        if self._timer is not None and self._watch is not None:  # it has ticked, and knows nothing of this limit
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(0, self._tick)
        return asked

    async def _read(self, asked: Asked, *, told: bool) -> list[Event]:
        """The last events of this answer. `told`: the client gets all others as they come."""
        turn, answer, payloads = asked.turn, asked.answer, asked.payloads
        self._untold += self._begun()
        while True:
            for payload in payloads:
                events = turn.receive(payload)
                if turn.emitter.over:
                    return events
                if told:
                    self._untold += events
            if self._untold and self._client.streams:
                events, self._untold = self._untold, []
                await self._put(self._client.encode(events))
                self._heard_at = time.monotonic()  # who sends does not hear
            more = await self._wait(answer.next)
            if more is None:
                return turn.end()
            if more:  # a comment is no sign of a model that writes
                self._heard_at = time.monotonic()
            payloads = more

    async def _made(self, route: Route) -> DialectTurn:
        return await self._turn(self._asked, route, self._lifecycle, for_codex=self._for_codex)

    async def _turn(
        self, request: Request, route: Route, lifecycle: Lifecycle, *, for_codex: bool = False
    ) -> DialectTurn:
        turn = DialectTurn(
            await fetched(request, route.model.upstream, route.model.can, self._server),
            route.model,
            route.dialect,
            lifecycle,
            for_codex=for_codex,
            sealer=self._sealer.fresh() if self._sealer else None,
            seal_always=self._seal_always,
        )
        refuse_if_strict(self._server, [*self._request_warnings, *turn.warnings])
        return turn

    def _retried(self, cause: str) -> None:
        self.retries += 1
        self.cause = cause

    def _begun(self) -> list[Event]:
        """The first two events, unless they were sent."""
        return [] if self._lifecycle.begun else self._lifecycle.begin()

    # Waiting and sending

    def _taken(self) -> bool:
        """Takes the signal. False: somebody else has cancelled the task, too."""
        self._why = None
        return self._task is not None and self._task.uncancel() == 0

    async def _wait(self, make: Callable[[], Awaitable[_T]]) -> _T:
        """What `make()` gives, which may be cancelled and called again, with signs of life while it lasts."""
        while True:
            self._waits = True
            try:
                return await make()
            except asyncio.CancelledError:
                if self._why is not Why.LIFE or not self._taken():
                    raise  # a reason, for `run`; or somebody else's
            finally:
                self._waits = False
            await self._put(self._client.encode(self._life()))

    def _life(self) -> list[Event]:
        """A sign of life; the first one begins the response."""
        if not self._lifecycle.begun:
            return self._lifecycle.begin()
        return [self._lifecycle.in_progress([])] if self.dialect is None else self.dialect.emitter.sign_of_life()

    async def _start(self) -> None:
        await self._client.start(self.warnings, self.route.name if self.answer is not None else "")
        self._started = True

    async def _put(self, data: bytes) -> None:
        """Sends: all or nothing, so what is cancelled here stays in `unsent`."""
        self._unsent += data
        if not self._started:
            await self._start()
        sent = self._unsent
        await self._client.send(sent)
        self._unsent = b""
        if self.sent is not None:
            self.sent.append(sent)
        self._sent_at = time.monotonic()

    # The end

    async def _finish(self, ending: Ending) -> None:
        late = [*self._late, *(self.dialect.late_warnings if self.dialect else ())]
        if not isinstance(ending, Problem):
            ending = self._untold + ending
            if isinstance(last := ending[-1], LastEvent):
                self.finish = last.response.status
            self.problem = self.problem or (self.dialect.emitter.problem if self.dialect else None)
            if self.problem is not None and not self._client.streams:
                ending = self._failed(self.problem)
        if isinstance(ending, Problem):
            self.problem, self.finish = ending, "failed" if self.dialect else "refused"
            return await self._client.refuse(ending)
        if not self._started:
            await self._start()
        data = self._unsent + self._client.encode(ending, late)
        if self.sent is not None:
            self.sent.append(data)
        return await self._client.finish(data, late)

    def _failed(self, problem: Problem) -> Ending:
        """A refusal before the first byte, the last event of a failed response after it."""
        if not self._started:
            return replace(problem, message=f"{problem.failed_message}{_NO_PART}") if self.dialect else problem
        self.problem = problem
        emitter = self.dialect.emitter if self.dialect else None
        if emitter is not None and not emitter.over and problem.code != "internal_error":
            return emitter.fail(problem)
        output = emitter.output if emitter else []  # after a fault of ours nothing else is asked of it
        return [*self._begun(), self._lifecycle.last(ENDINGS["failure"], output, None, problem)]

    def _broke(self, error: UpstreamError) -> Ending:
        self.cause = error.cause
        tells = self._may_know and self._asking is not None
        return self._failed(explained(error.problem, error.cause) if tells else error.problem)

    def _stopped(self, why: Why) -> Ending:
        """The last events of a turn that something from outside ends."""
        if why in (Why.INTERRUPTED, Why.CANCELLED):
            reason: Reason = "interrupted" if why is Why.INTERRUPTED else "cancelled"
            if self.dialect is not None:
                return self.dialect.stop(reason)
            return [*self._begun(), self._lifecycle.last(ENDINGS[reason], [], None)]
        if why is Why.STOPPED:
            return self._failed(STOPPED)
        limits = self.route.model.upstream
        if why is Why.SILENT:
            return self._broke(too_slow("stopped talking", limits.timeout, limits.base_url))
        what = "took too long" if self.dialect is not None else "did not answer"
        return self._broke(too_slow(what, limits.turn_timeout or 0, limits.base_url))

    def _close(self) -> None:
        """Everything that belongs to the turn. Nothing waits in here."""
        for held in (self._timer, self._watch):
            if held is not None:
                held.cancel()
        if self._asking is not None:
            self._asking.add_done_callback(_dispose)
            self._asking.cancel()
        if self.answer is not None:
            self.answer.close()

    # Clocks

    def _tick(self) -> None:
        """Once in a while: watches the client, sends signs of life, and keeps the limits."""
        loop = asyncio.get_running_loop()
        if self._watch is None:
            self._watch = loop.create_task(self._client.left())
            self._watch.add_done_callback(self._gone)
        now = time.monotonic()
        limits = self.route.model.upstream
        listens = self._waits and self.answer is not None  # a client that reads slowly is no silence of the upstream
        silent_at = self._heard_at + limits.timeout if listens else float("inf")
        limit_at = self.began + (limits.turn_timeout or float("inf"))
        if now >= min(silent_at, limit_at):
            return self.signal(Why.SILENT if silent_at <= limit_at else Why.LIMIT)
        life_at = float("inf")
        if self._client.streams:
            waited = self._server.keep_alive if self._started else self._server.first_payload_wait
            life_at = self._sent_at + waited
            if now >= life_at:
                self.signal(Why.LIFE)
                life_at = now + self._server.keep_alive
        self._timer = loop.call_later(min(life_at, silent_at, limit_at, now + 60) - now, self._tick)
        return None

    def _gone(self, watch: "asyncio.Task[None]") -> None:
        if not watch.cancelled():
            watch.exception()
            self.signal(Why.LEFT)


def refuse_if_strict(server: ServerSettings, warnings: Sequence[Warning]) -> None:
    """Raises `ProblemError` for what a strict server does not leave out."""
    if server.strict and warnings:
        details = " ".join([warning.details for warning in warnings[:_TOLD]])
        raise refuse("unsupported_value", f"This server is strict. {details}")


def _dispose(asking: "asyncio.Task[Asked]") -> None:
    """Closes an answer that came too late."""
    if not asking.cancelled() and asking.exception() is None:
        asking.result().answer.close()
