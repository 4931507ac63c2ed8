"""One response in one task, from the ask to the last event.

One task, one writer. An answer is an object whose `next` may be cancelled and called again. Asking (retries, fallbacks,
the first payload) runs in a task of its own, which a sign of life does not disturb; so does fetching pictures. What was
not sent when a signal came goes out before the last events.

Before the first byte a failure is a refusal with an HTTP status; after it, it is `response.failed`. The slot is free
before the last event is sent, because clients ask again at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from msgspec.structs import replace

from ..catalog import Route
from ..dialects.exchange import Exchange, new_exchange
from ..emitter.response import Lifecycle
from ..emitter.rules import ENDINGS, Reason
from ..fetching.attachments import fetched, to_fetch
from ..history.compaction import Conversation, Summary
from ..history.sealing import Sealer
from ..observe.log import log, log_failing
from ..settings.tables import ServerSettings
from ..types.events import Event, InterruptAccepted, LastEvent, RelayedLast
from ..types.json import Json
from ..types.problems import Problem, ProblemError, Warnings, refuse
from ..types.request import Request
from ..types.response import Response, Usage
from ..upstreams.errors import explained, of_key, too_slow
from ..upstreams.port import Answer, AskRecord, LeftAloneError, UpstreamError
from .attempts import ELSEWHERE, Begun, ask, without_refused
from .signals import Client, Signals, Why
from .summary import most_asked, summarize

_T = TypeVar("_T")

_FINISH = 10
"""Seconds to send the last events to a client that reads slowly."""
_NOTHING = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
_NEAR = 3
"""How many times as long, or as short, an estimate may be as what it estimates."""
_COUNT_TIME = 3
"""Seconds for a server to count before it is asked."""
_TOLD = 15
"""Warnings in the message of a strict server."""
_NO_PART = " No part of the answer is returned."
STOPPED = Problem("overloaded", "This server is stopping. Please try again in 1s.", retry_after=1)


Ending = list[Event] | Problem
"""How a turn ends: with its last events; or, where nothing was sent, with a refusal."""


class _SummaryFirstError(Exception):
    """The conversation is to be summarized before this upstream is asked; and answered, if there is an exchange."""

    def __init__(self, route: Route, exchange: Exchange | None = None) -> None:
        super().__init__()
        self.route = route
        self.exchange = exchange


@dataclass(eq=False)
class Turn:
    """One response. Its fields are what the log and the record need of it."""

    request: Request
    request_warnings: Sequence[str]
    routes: Sequence[Route]
    client: Client
    _: KW_ONLY
    server: ServerSettings
    request_id: str
    for_codex: bool
    may_know: bool
    """The client runs this server, and is told why an upstream failed."""
    watched: bool
    released: Callable[[], None]
    """Frees the turn's slot."""
    conversation: Conversation | None = None
    """It may have to be summarized."""
    sums_up: bool = False
    """That is all, also where a server gets what was posted."""
    sealer: Sealer | None = None
    """The caller's."""

    def __post_init__(self) -> None:
        self.warnings = self._warnings(self.routes[0])
        self.signals = Signals(self.client, self.server, self.routes[0].model.upstream)
        self.first_at: float | None = None
        """When the first payload came."""
        self.retries: dict[str, int] = {}
        """Asks that were made again, by the upstream that could not take them."""
        self.cause = ""
        """Why it failed, or was asked again, for the operator."""
        self.problem: Problem | None = None
        self.route = self.routes[0]
        self.exchange: Exchange | None = None
        self.finish = "disconnected"
        """How it ended: the status of the response, or `refused` or `disconnected`."""
        self.sent: list[tuple[float, bytes]] | None = [] if self.watched else None
        """What the client got, and when, for the record."""
        self.asks: list[AskRecord] | None = [] if self.watched else None
        """What upstreams were asked, and sent, for the record."""
        self.answer: Answer | None = None
        self._asked = self.request
        """What the model is asked: after a summary, this is not what was posted."""
        self._lifecycle = Lifecycle(self.request, for_codex=self.for_codex)
        self._asking: asyncio.Task[Any] | None = None
        """Asks, or fetches."""
        self._untold: list[Event] = []
        """Events that were made, and not encoded."""
        self._unsent = b""
        """Bytes that were encoded, and not sent."""
        self._late = Warnings()
        """Warnings of a route that was found after the status line."""

    @cached_property
    def usage(self) -> Usage | None:
        """The tokens that were used, when all is over."""
        return self._lifecycle.used(self.exchange.emitter.usage if self.exchange else None)

    @cached_property
    def warned(self) -> Warnings:
        """The warnings that the client got, when all is over."""
        return [*self.warnings, *(self.exchange.late_warnings if self.exchange else ())]

    @property
    def response_id(self) -> str | None:
        """The id of the response, if it has begun."""
        return self._lifecycle.response.id if self._lifecycle.begun else None

    async def run(self) -> None:
        """The whole turn."""
        self.signals.start()
        try:
            if (ending := await self._ending()) is not None:
                async with asyncio.timeout(_FINISH):
                    await self._finish(ending)
        except TimeoutError:
            self.finish = "disconnected"

    async def count(self) -> tuple[int, bool]:
        """The tokens that the first upstream would be asked, and whether it has counted them. Raises `ProblemError`."""
        while True:
            exchange = await self._turn(self.request, self.route, self._lifecycle)
            try:
                counted = await self.route.upstream.count(exchange.body, self.route.key)
            except UpstreamError as failed:
                error = of_key(failed, self.route.key)
                if (again := without_refused(self.route.model, error.problem)) is None:
                    raise ProblemError(self._told(error)) from None
                self.route = self.route._replace(model=again)
                continue
            self._warn(exchange.warnings)
            return counted or self.route.dialect.tokens(exchange.body), counted is not None

    async def _ending(self) -> Ending | None:
        """How the turn ends; None: the client has left. Behind it nothing of the turn is held any more."""
        try:
            begun = await self._answered()
            return await self._read(begun, told=True) if isinstance(begun, Begun) else begun
        except asyncio.CancelledError:
            why = self.signals.why
            if why is None or not self.signals.taken():
                raise  # somebody else's
            return None if why is Why.LEFT else self._stopped(why)
        except UpstreamError as error:
            return self._broke(error)
        except ProblemError as error:
            return self._failed(error.problem)
        except Exception as error:  # a fault of ours: the response fails, the stream is not cut
            log.exception("turn %s", self.request_id)
            self.cause = f"{type(error).__name__}: {error}"
            return self._failed(fault_of_ours(self.request_id))
        finally:
            self._close()
            self.released()

    # Asking and answering

    async def _answered(self) -> Begun | list[Event]:
        """The answer that is for the client; or its last events, if a summary is all it wants.

        Raises `UpstreamError`, or `ProblemError` for a bad request.
        """
        first = self.routes[0]
        relays = first.dialect.relays  # a server with the same API prepares its cache itself
        if not self.sums_up and (not self.request.generate or (self.request.prewarms and not relays)):
            self._warn((await self._turn(self.request, first, self._lifecycle)).warnings)
            return [*self._begun(), self._lifecycle.last(ENDINGS["end"], [], _NOTHING)]
        try:
            if self.sums_up:
                if relays and (compaction := await self._compaction()) is not None:
                    return [compaction]
                raise _SummaryFirstError(self.routes[0])
            exchange = await self._made(first)
            self._warn(exchange.warnings)
            begun = await self._ask(exchange, self._made)
        except _SummaryFirstError as needed:
            self.routes = self.routes[self.routes.index(needed.route) :]
            conversation, self.conversation = self.conversation, None
            assert conversation is not None  # noqa: S101 — it is what needs the summary
            if needed.exchange is None:
                summary = await self._summary(conversation)
                item = self._lifecycle.add(conversation.item(summary))
                return [*self._begun(), *item, self._lifecycle.last(self._lifecycle.endings[summary.ending], [], None)]
            begun = await self._ask(await self._summarized(conversation, needed.exchange), self._made)
        self.exchange = begun.exchange
        warnings = self._warnings(begun.route, begun.exchange)
        if not self.signals.is_told and self._lifecycle.next_index == 0:
            self.warnings = warnings
        self._late = [warning for warning in warnings if warning not in self.warnings]
        return begun

    async def _made(self, route: Route) -> Exchange:
        """The exchange for this route. Raises `_SummaryFirstError` where the conversation is to be summarized for it.

        A server that has the same API gets what was posted.
        """
        conversation = self.conversation
        if conversation is None or route.dialect.relays or route not in self.routes:
            return await self._turn(self._asked, route, self._lifecycle)
        if (threshold := conversation.threshold) is None:
            raise _SummaryFirstError(route)
        exchange = await self._turn(self._asked, route, self._lifecycle)
        if await self._tokens(route, exchange.body, threshold) > threshold:
            raise _SummaryFirstError(route, exchange)
        return exchange

    async def _tokens(self, route: Route, body: Json, threshold: int) -> int:
        """The tokens of an ask: an estimate; near the threshold its server's own count, if it has one."""
        tokens = route.dialect.tokens(body)
        is_sure = any(counter.is_sure for counter in route.dialect.counters)
        if is_sure and threshold / _NEAR <= tokens <= threshold * _NEAR:
            with suppress(UpstreamError, TimeoutError):
                counting = route.upstream.count(body, route.key)
                return await self._apart(asyncio.wait_for(counting, _COUNT_TIME)) or tokens
        return tokens

    async def _summarized(self, conversation: Conversation, exchange: Exchange) -> Exchange:
        """The exchange that goes on from a summary; or this one, if there can be none."""
        self._warn([each for each in self._warnings(self.routes[0], exchange) if each not in self.warnings])
        if (warning := conversation.split(most_asked(self.routes[0]))) is not None:
            exchange.warnings.append(warning)
            self._warn([warning])
            self._refuse_if_strict([warning])
            return exchange
        item, self._asked = conversation.going_on(await self._summary(conversation))
        self.routes = [self.route]
        events = [*self._begun(), *self._lifecycle.add(item)]
        if self.client.streams:
            await self._put(self.client.encode(events))
        return await self._made(self.route)

    async def _summary(self, conversation: Conversation) -> Summary:
        """The summary that a model writes. The client gets signs of life."""

        async def answer(request: Request, exchange: Exchange) -> Response:
            begun = await self._ask(exchange, partial(self._turn, request))
            if conversation.threshold is None and not self.signals.is_told:
                self.warnings = self._warnings(begun.route, begun.exchange)
            try:
                if self.client.streams and (first := self._begun()):
                    await self._put(self.client.encode(first))
                events = await self._read(begun, told=False)
            finally:
                self._lifecycle.used_before = begun.exchange.emitter.usage
                begun.answer.close()
                self.answer, self.signals.hears = None, False
            if begun.exchange.emitter.problem is not None:
                raise UpstreamError(begun.exchange.emitter.problem)
            last = events[-1]
            assert isinstance(last, LastEvent)  # noqa: S101 — what `_read` returns
            return last.response

        return await summarize(conversation, self.routes[0], self._turn, answer)

    async def _compaction(self) -> Event | None:
        """The last event, with what the first server has made of the conversation; None: it is to be summed up here.

        Raises `ProblemError` where it refuses.
        """
        route = self.routes[0]
        exchange = await self._made(route)
        try:
            made = await route.upstream.compact(exchange.body, route.key)
        except UpstreamError as failed:
            error = of_key(failed, route.key)
            if error.problem.code not in ELSEWHERE:
                raise ProblemError(error.problem) from None
            self._refused(route, error, True)
            self.routes = self.routes[1:] or self.routes
            return None
        if made is None:
            return None
        self._warn(exchange.warnings)
        response = replace(self._lifecycle.response, status="completed")
        return RelayedLast(sequence_number=self._lifecycle.number(), response=response, body={"response": made})

    async def _ask(self, exchange: Exchange, make: Callable[[Route], Awaitable[Exchange]]) -> Begun:
        """The first payloads of the first upstream that sends one, in this exchange or in one that `make` makes."""
        begun = await self._apart(ask(self.routes, exchange, make, self._refused, self.asks))
        self.route, self.answer = begun.route, begun.answer
        self.first_at = time.monotonic()
        self.signals.answered(begun.route.model.upstream)
        return begun

    async def _apart(self, asking: Coroutine[Any, Any, _T]) -> _T:
        """The result of this, in a task of its own. The client gets signs of life."""
        if self._asking is not None and not self._asking.done():  # this is that task: it asks another upstream
            return await asking
        self._asking = task = asyncio.ensure_future(asking)
        await self.signals.wait(lambda: asyncio.wait((task,)), self._live)
        result = task.result()
        self._asking = None
        return result

    async def _read(self, begun: Begun, *, told: bool) -> list[Event]:
        """The last events of this answer. `told`: the client gets all others as they come."""
        exchange, answer, payloads = begun.exchange, begun.answer, begun.payloads
        if not begun.route.dialect.relays:  # which tells its own beginning
            self._untold += self._begun()
        while True:
            for payload in payloads:
                events = exchange.receive(payload)
                if exchange.emitter.over:
                    return events
                if told:
                    self._untold += events
            if self._untold and self.client.streams:
                events, self._untold = self._untold, []
                await self._put(self.client.encode(events))
            more = await self.signals.wait(answer.next, self._live)
            if more is None:
                return exchange.end()
            payloads = more

    async def _turn(self, request: Request, route: Route, lifecycle: Lifecycle | None = None) -> Exchange:
        knowing = route.upstream.known(route.model)
        model = await (knowing if route.upstream.is_ready else self._apart(knowing))
        if wanted := to_fetch(request, model.upstream, model.can, self.server):
            request = await self._apart(fetched(request, wanted, self.server))
        exchange = new_exchange(
            request,
            model,
            route.dialect,
            lifecycle or Lifecycle(request),
            self.sealer.fresh() if self.sealer else None,
        )
        self._refuse_if_strict(self._warnings(route, exchange))
        return exchange

    def _refuse_if_strict(self, warnings: Sequence[str]) -> None:
        if self.server.strict and warnings:
            raise refuse("unsupported_value", f"This server is strict. {' '.join(warnings[:_TOLD])}")

    def _warnings(self, route: Route, exchange: Exchange | None = None) -> list[str]:
        """What is left out on this route: a server with the same API gets what was posted."""
        of_request = () if route.dialect.relays else self.request_warnings
        return [*of_request, *(exchange.warnings if exchange else ())]

    def _refused(self, route: Route, error: UpstreamError, again: bool) -> None:
        """An ask has failed. `again`: the same upstream, or another one, is asked."""
        self.cause = error.cause
        if again:
            self.retries[route.name] = self.retries.get(route.name, 0) + 1
        if not isinstance(error, LeftAloneError):
            self.route = route
            if error.problem.code in ELSEWHERE and error.problem.code != "model_not_found":
                log_failing(route.name, error.cause)

    def _warn(self, warnings: Sequence[str]) -> None:
        """The client is told of these: at the end, if the answer has begun."""
        (self._late if self.signals.is_told else self.warnings).extend(warnings)

    def _begun(self) -> list[Event]:
        """The first two events, unless they were sent."""
        return [] if self._lifecycle.begun else self._lifecycle.begin()

    # Waiting and sending

    async def _live(self) -> None:
        """Sends a sign of life; the first one begins the response."""
        if not self._lifecycle.begun:
            events = self._lifecycle.begin()
        elif self.exchange is None:
            events = [self._lifecycle.in_progress([])]
        else:
            events = self.exchange.emitter.sign_of_life()
        await self._put(self.client.encode(events))

    async def _start(self) -> None:
        await self.client.start(self.warnings, self.route.name if self.answer is not None else "")
        self.signals.is_told = True

    async def _put(self, data: bytes) -> None:
        """Sends: all or nothing, so what is cancelled here stays in `unsent`."""
        self._unsent += data
        if not self.signals.is_told:
            await self._start()
        sent = self._unsent
        await self.client.send(sent)
        self._unsent = b""
        self.signals.sent_at = now = time.monotonic()
        if self.sent is not None:
            self.sent.append((now, sent))

    # The end

    async def _finish(self, ending: Ending) -> None:
        late = [*self._late, *(self.exchange.late_warnings if self.exchange else ())]
        if not isinstance(ending, Problem):
            ending = self._untold + ending
            if isinstance(last := ending[-1], LastEvent):
                self.finish = last.response.status
            self.problem = self.problem or (self.exchange.emitter.problem if self.exchange else None)
            if self.problem is not None and not self.client.streams:
                ending = self._failed(self.problem)
        if isinstance(ending, Problem):
            self.problem, self.finish = ending, "failed" if self.exchange else "refused"
            return await self.client.refuse(ending)
        if not self.signals.is_told:
            await self._start()
        data = self._unsent + self.client.encode(ending, late)
        if self.sent is not None:
            self.sent.append((time.monotonic(), data))
        return await self.client.finish(data, late)

    def _failed(self, problem: Problem) -> Ending:
        """A refusal before the first byte, the last event of a failed response after it."""
        if not self.signals.is_told:
            told = problem.failed_message
            told += "" if told.endswith((".", "…", "!", "?")) else "."
            return replace(problem, message=f"{told}{_NO_PART}") if self.exchange else problem
        self.problem = problem
        emitter = self.exchange.emitter if self.exchange else None
        if emitter is not None and not emitter.over and problem.code != "internal_error":
            return emitter.fail(problem)
        output = emitter.output if emitter else []  # after a fault of ours nothing else is asked of it
        return [*self._begun(), self._lifecycle.last(ENDINGS["failure"], output, None, problem)]

    def _broke(self, error: UpstreamError) -> Ending:
        self.cause = error.cause
        if self._asking is None:  # the answer had begun
            log_failing(self.route.name, error.cause)
        return self._failed(error.problem if self._asking is None else self._told(error))

    def _told(self, error: UpstreamError) -> Problem:
        return explained(error.problem, error.cause) if self.may_know else error.problem

    def _stopped(self, why: Why) -> Ending:
        """The last events of a turn that something from outside ends."""
        if why in (Why.INTERRUPTED, Why.CANCELLED):
            reason: Reason = "interrupted" if why is Why.INTERRUPTED else "cancelled"
            events = self._begun()
            if why is Why.INTERRUPTED:
                number = self._lifecycle.number()
                events.append(InterruptAccepted(sequence_number=number, response_id=self._lifecycle.response.id))
            if self.exchange is not None:
                return [*events, *self.exchange.stop(reason)]
            return [*events, self._lifecycle.last(ENDINGS[reason], [], None)]
        if why is Why.STOPPED:
            return self._failed(STOPPED)
        limits = (self.route if self.exchange else self.routes[0]).model.upstream
        if why is Why.SILENT:
            return self._broke(too_slow("stopped talking", limits.timeout, limits.base_url))
        what = "took too long" if self.exchange is not None else "did not answer"
        return self._broke(too_slow(what, limits.turn_timeout or 0, limits.base_url))

    def _close(self) -> None:
        """Everything that belongs to the turn. Nothing waits in here."""
        self.signals.close()
        if self._asking is not None:
            self._asking.add_done_callback(_dispose)
            self._asking.cancel()
        if self.answer is not None:
            self.answer.close()


def fault_of_ours(request_id: str) -> Problem:
    """What is told of a fault in this program."""
    return Problem("internal_error", f"This server failed. Its log says why; the request id is {request_id}.")


def _dispose(asking: "asyncio.Task[Any]") -> None:
    """Closes an answer that came too late."""
    if not asking.cancelled() and asking.exception() is None and isinstance(begun := asking.result(), Begun):
        begun.answer.close()
