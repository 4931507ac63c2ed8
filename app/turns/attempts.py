"""One turn, asked of one upstream after the other until one of them has spoken. Never again after that.

Theory of operation
-------------------
An upstream that could not be reached, or says 429, 502, 503 or 529, is asked once more, if its breaker allows, and at
once or after the short wait that it names. If it fails all the same, the next of the model's upstreams is asked, in
its own dialect: for that a new turn is begun. What is the client's own fault is not tried elsewhere.

The client may have been told the beginning by then. The new turn is brought to the same point: it has the same id and
the same face, as both are made of the request alone, and it counts as many signs of life as were told. What it would
have told beyond that is owed.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from app.catalogue import AnyTurn, Route
from app.loop_delay import loop_delay
from app.off_loop import off_loop
from app.protocol.events import Event
from app.protocol.problems import Problem, ProblemError
from app.protocol.warnings import ClientWarning
from app.turns.pump import SILENT, too_slow
from app.upstreams.port import UpstreamBroke, UpstreamRefused

PATIENCE: Final = 5
"""Seconds that an upstream may ask us to wait before it is asked again; the client waits through them."""
ELSEWHERE: Final = frozenset(
    {
        "insufficient_quota", "internal_error", "model_not_found", "overloaded", "rate_limit_exceeded",
        "upstream_auth_error", "upstream_error", "upstream_timeout",
    }
)  # fmt: skip
"""What another upstream may do better."""
FAILURES: Final = frozenset({"overloaded", "upstream_error", "upstream_timeout"})
"""What counts against an upstream, though it may be due to the request. A fault of this server never counts."""
OWN_DELAY: Final = 0.5
"""Share of the time given to an upstream; if this process itself was late by as much, a time-out counts for nothing."""

Begin = Callable[[Route], Awaitable[AnyTurn]]
Observe = Callable[[str, Any, Sequence[ClientWarning]], None]
"""Called with the name of an upstream, what it is asked, and what could not be said to it."""


class Attempts:
    """A turn, and the payloads of whichever upstream answers it."""

    def __init__(
        self,
        routes: Sequence[Route],
        turn: AnyTurn,
        begin: Begin,
        note: Callable[..., None] = lambda **_: None,
        observe: Observe = lambda *_: None,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        self._routes = routes
        self._begin = begin
        self._note = note
        """Called with what the log should say: how often each upstream was asked in vain (`retries`), the name and the
        warnings of another one that is asked, or that all were left alone (`left_alone`)."""
        self._observe = observe
        """Called once for each ask that is sent, at whichever upstream."""
        self._answered = answered
        """Called when the request is needed no longer."""
        self._retries: dict[str, int] = {}
        self._asked = False
        self._own_delay = _no_delay
        """The share of the time of the last attempt by which this process was late itself."""
        self._turn = turn
        self._unsaid = turn.ask
        """The ask, which a turn that has begun no longer holds."""
        self._begun = False
        self._told = 0
        self._owed: list[Event] = []
        self._route = routes[0]
        """The one that answers, once one does."""
        self._source: AsyncGenerator[dict[str, Any]] | None = None
        self._next: Callable[[], Awaitable[dict[str, Any]]] = self._first

    # Payloads

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """Payloads; the first one is that of the first upstream that has any."""
        return self

    def __anext__(self) -> Awaitable[dict[str, Any]]:
        """The next one, straight from its upstream once that is found."""
        return self._next()

    async def again(self) -> list[Event] | None:
        """The answer is over. What the client is told if the same upstream is to be asked once more; None if not.

        The second ask is made of the whole request. It is sent with the next payload that is asked for.
        """
        more = await off_loop(self._turn.next_size, self._turn.go_on)
        if more is None:
            return None
        events, ask = more
        if not self._turn.over:
            self._source = self._route.open(ask)
            self._next = partial(self._first_again, ask)
        return events

    async def aclose(self) -> None:
        """Stops asking."""
        if self._source is not None:
            await self._source.aclose()

    async def _first(self) -> dict[str, Any]:
        refusal = UpstreamRefused(SILENT)
        for number, route in enumerate(self._routes):
            try:
                if number:
                    await self._move_to(route)
                return await self._ask(route, elsewhere=number > 0)
            except UpstreamRefused as refused:
                refusal = refused
                if refused.problem.code not in ELSEWHERE and not refused.elsewhere:
                    break
                if number + 1 < len(self._routes):
                    self._count(route)
            except ProblemError:
                continue  # it cannot be said there
        if not self._asked:
            self._note(left_alone=True)
        raise refusal

    async def _ask(self, route: Route, *, elsewhere: bool) -> dict[str, Any]:
        """The upstream's first payload, at the second try if need be."""
        breaker = route.entry.breaker
        if wait := breaker.allow(route.owner):
            raise UpstreamRefused(_left_alone(wait))
        self._asked = True
        if elsewhere:  # the log has the first one's name and warnings already
            self._note(upstream=route.entry.upstream_name, warnings=self._turn.warnings)
        self._observe(route.entry.upstream_name, self._unsaid, self._turn.warnings)
        answered = False
        model = route.entry.model or route.model
        try:
            for left in range(breaker.retries, -1, -1):
                try:
                    payload = await self._open(route)
                except UpstreamRefused as refused:
                    if refused.timed_out and self._own_delay() >= OWN_DELAY:
                        raise  # whatever the upstream sent, nobody was there to read it
                    if left and _soon(refused.wait) and breaker.may_ask_again(route.owner):
                        self._count(route)
                        await asyncio.sleep(refused.wait or 0)
                        continue
                    answered = True
                    if refused.outage is not None:
                        breaker.failure(route.owner, model, kind=refused.outage)
                    elif refused.problem.code in FAILURES:
                        breaker.failure(route.owner, model, kind="failed")
                    else:
                        breaker.success(route.owner, model)
                    raise
                answered = True
                breaker.success(route.owner, model)
                return payload
        finally:
            if not answered:
                breaker.release(route.owner)
        raise AssertionError  # pragma: no cover — the last try returns or raises

    def _count(self, route: Route) -> None:
        name = route.entry.upstream_name
        self._retries[name] = self._retries.get(name, 0) + 1
        self._note(retries=self._retries)

    async def _open(self, route: Route) -> dict[str, Any]:
        patience = route.entry.clocks.first_payload
        self._source = source = route.open(self._unsaid)
        try:
            with loop_delay().share() as self._own_delay:
                async with asyncio.timeout(patience):
                    payload = await anext(source)
        except StopAsyncIteration:
            raise UpstreamRefused(SILENT) from None
        except TimeoutError:
            await source.aclose()
            raise UpstreamRefused(too_slow("did not answer", patience), outage="unavailable", timed_out=True) from None
        # there is nothing more to ask, and a stream should not hold what it will not need
        self._next = source.__anext__
        self._route = route
        self._routes, self._begin, self._unsaid = (), _never, {}
        if not self._turn.next_size:
            self._observe = _nobody  # it may hold the request
            self._answered()
        return payload

    async def _first_again(self, ask: Any) -> dict[str, Any]:
        """The first payload of the second answer, for which the upstream has as long as for that of the first."""
        assert self._source is not None  # noqa: S101 — our own misuse: `again` has set it
        self._observe(self._route.entry.upstream_name, ask, self._turn.warnings)
        self._observe, self._next = _nobody, self._source.__anext__
        del ask  # it may be long, and so may the answer take
        patience = self._route.entry.clocks.first_payload
        source = self._source
        try:
            async with asyncio.timeout(patience):
                payload = await anext(source)
        except TimeoutError:
            raise UpstreamBroke(too_slow("did not answer", patience)) from None
        self._answered()
        return payload

    async def _move_to(self, route: Route) -> None:
        turn = await self._begin(route)
        self._unsaid = turn.ask
        events = turn.begin() if self._begun else []
        while len(events) < self._told and (more := turn.keep_alive()):
            events += more
        self._owed = events[self._told :]
        self._turn = turn

    # The turn, in whichever dialect it is by now

    @property
    def ask(self) -> Any:
        """What the upstream is asked."""
        return self._turn.ask

    @property
    def warnings(self) -> Sequence[ClientWarning]:
        """What the caller must know of what was not asked."""
        return self._turn.warnings

    @property
    def late_warnings(self) -> Sequence[ClientWarning]:
        """What the caller must know of what could not be told."""
        return self._turn.late_warnings

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        return self._turn.over

    @property
    def problem(self) -> Problem | None:
        """Why it failed."""
        return self._turn.problem

    @property
    def notes(self) -> dict[str, Any]:
        """What the log should say of it."""
        return self._turn.notes

    def begin(self) -> list[Event]:
        """The first events."""
        self._begun = True
        return self._counted(self._turn.begin())

    def receive(self, payload: Any) -> list[Event]:
        """What the client is told of one payload."""
        events = self._turn.receive(payload)
        return self._with_owed(events) if self._owed else events

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        return self._counted(self._with_owed(self._turn.keep_alive()))

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        return self._with_owed(self._turn.end())

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        return self._with_owed(self._turn.fail(problem))

    def _counted(self, events: list[Event]) -> list[Event]:
        self._told += len(events)
        return events

    def _with_owed(self, events: list[Event]) -> list[Event]:
        owed, self._owed = self._owed, []
        return owed + events


async def _never(_route: Route) -> AnyTurn:
    raise AssertionError("an upstream has spoken")


def _no_delay() -> float:
    return 0.0


def _nobody(*_: Any) -> None:
    """Observes nothing."""


def _soon(wait: float | None) -> bool:
    return wait is not None and wait <= PATIENCE


def _left_alone(wait: float) -> Problem:
    words = "The model's server failed again and again, and is left alone for a while."
    return Problem(code="overloaded", message=words, retry_after=round(wait + 0.5))
