"""The choice of the upstream: a model's upstreams are asked in order, until one of them sends its first payload.

Theory of operation
-------------------
An upstream that could not be reached, or answers 429, 502, 503 or 529, is asked once more, if its breaker allows: at
once, or after the short wait that it names. If it fails again, the next of the model's upstreams is asked, in its own
dialect: a new turn is made for it. A request that is itself invalid is not sent to another upstream.

An upstream that refuses what it gave out in an earlier turn, such as reasoning that it has signed, is asked once more
without it; one that cannot enforce the schemas of a request, without asking it to; and one for which a conversation is
too long, with half of it, if that is to be summed up or may be truncated. A new turn is made for it, which decides
again what may be asked of the model. One of which nothing is known, and that refuses a request with other tools than
functions, is asked once more with functions only.

After the first payload no other upstream is asked. Before it the client may have been sent the first events; they are
made from the request alone (`opening.py`), and the turn that reads the answer continues after them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from ..catalogue import Route
from ..compaction.summary_turn import SummaryTurn
from ..dialects.chat.chat_options import ChatOptions
from ..dialects.messages.messages_options import MessagesOptions
from ..dialects.responses.bridged_body import may_have_functions_only
from ..dialects.responses.relay_options import RelayOptions
from ..dialects.responses.relayed_body import gives_state
from ..new_turns import AnyTurn
from ..off_loop import off_loop
from ..protocol.problems import Problem, ProblemError
from ..upstreams.faults import refuses_request, refuses_schemas, refuses_state
from ..upstreams.port import GOES_ON, NoSuchAddressError, UpstreamRefused
from .asks import Asks
from .failures import SILENT, too_slow
from .turn_protocols import Answer

PATIENCE: Final = 5
"""Seconds that an upstream may ask us to wait before it is asked again; the client waits through them."""
ELSEWHERE: Final = frozenset(
    {
        "insufficient_quota", "internal_error", "model_not_found", "overloaded", "rate_limit_exceeded",
        "upstream_auth_error", "upstream_error", "upstream_timeout",
    }
)  # fmt: skip
"""Codes of problems after which the next upstream is asked."""
FAILURES: Final = frozenset({"overloaded", "upstream_error", "upstream_timeout"})
"""Codes that count as failures of an upstream, although the request may cause them. Our own faults never count."""
ENFORCES_NOTHING: Final[dict[str, Any]] = {
    "strict_tools": False,
    "structured_output": (),
    "structured_beside_tools": (),
}
"""The capabilities of a server that enforces no schema."""

Begin = Callable[[Route], Awaitable[AnyTurn]]


async def first_payload(routes: Sequence[Route], first: AnyTurn, begin: Begin, asks: Asks) -> Answer:
    """The first payload of the first upstream that sends one, and the turn that reads it.

    `first` is the turn for the first route; `begin` makes that of another. Raises `UpstreamRefused` if all refuse.
    """
    refusal = UpstreamRefused(SILENT)
    asked = False
    turn: AnyTurn | None = first
    ways = list(routes)
    while ways:
        route, *ways = ways
        try:
            asking = await begin(route) if turn is None else turn
        except ProblemError as error:
            if isinstance(refusal, NoSuchAddressError):
                refusal = UpstreamRefused(error.problem)
            continue  # the request cannot be translated for this upstream
        finally:
            turn = None
        if wait := route.entry.breaker.allow(route.owner):
            refusal = asks.left_alone(route, _left_alone(wait))
            if ways:
                asks.retried(route)
            continue
        asked = True
        asks.asked(route, asking)
        GOES_ON.set(partial(asks.goes_on, route))
        try:
            return await _ask(route, asking, asks)
        except NoSuchAddressError as refused:
            refusal = refused  # the next route is to the same upstream
        except UpstreamRefused as refused:
            refusal = refused
            asks.failed(route, refused)
            ways = await _ways_after(refused, route, ways, asking)
            if ways:
                asks.retried(route)
    if not asked:
        asks.none_asked()
    raise refusal


async def _ask(route: Route, turn: AnyTurn, asks: Asks) -> Answer:
    """The upstream's first payload, after a second try if necessary. The breaker has allowed the ask."""
    breaker = route.entry.breaker
    answered = False
    model = route.entry.model or route.model
    try:
        for left in range(breaker.retries, -1, -1):
            try:
                answer = await _open(route, turn)
            except UpstreamRefused as refused:
                if left and _soon(refused.wait) and breaker.may_ask_again(route.owner):
                    asks.retried(route)
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
            asks.accepted(route)
            return answer
    finally:
        if not answered:
            breaker.release(route.owner)
    raise AssertionError  # pragma: no cover — the last try returns or raises


async def _open(route: Route, turn: AnyTurn) -> Answer:
    clocks = route.entry.clocks
    payloads = route.open(turn.ask)
    try:
        async with asyncio.timeout(clocks.first_payload):
            payload = await anext(payloads)
    except StopAsyncIteration:
        raise UpstreamRefused(SILENT) from None
    except TimeoutError:
        await payloads.aclose()
        problem = too_slow("did not answer", clocks.first_payload)
        raise UpstreamRefused(problem, outage="unavailable", timed_out=True) from None
    return Answer(turn, clocks, payload, payloads)


def without_refused(route: Route, refused: UpstreamRefused, ask: dict[str, Any]) -> Route | None:
    """The route to ask again, without what was refused of this ask; None if that can only be all of it."""
    options = route.entry.options
    refused_state = refuses_state(refused.problem) and not options.state_was_refused
    if isinstance(options, RelayOptions):
        if refused_state and gives_state(ask):
            return _with(route, replace(options, state_was_refused=True))
        if not options.tools_unknown or not refuses_request(refused.problem):
            return None
        functions = options.after_refused_tools
        return _with(route, functions) if may_have_functions_only(ask, functions) else None
    if refused_state:
        return _with(route, replace(options, state_was_refused=True))
    if refuses_schemas(refused.problem) and not ENFORCES_NOTHING.items() <= options.can.model_dump().items():
        return _with(route, replace(options, can=options.can.model_copy(update=ENFORCES_NOTHING)))
    return None


def _with(route: Route, options: ChatOptions | MessagesOptions | RelayOptions) -> Route:
    return route._replace(entry=route.entry._replace(options=options))


async def _ways_after(refused: UpstreamRefused, route: Route, others: list[Route], turn: AnyTurn) -> list[Route]:
    """The routes to try after this refusal of the turn's ask."""
    if refused.problem.code == "context_length_exceeded":
        if route.address:  # a summary that the upstream cannot write itself is made here
            return others
        if isinstance(turn, SummaryTurn) and route.refused_tokens is None:
            return [route._replace(refused_tokens=await off_loop(turn.size, lambda: turn.length)), *others]
    again = without_refused(route, refused, turn.ask)
    if again is not None:
        return [again, *others]
    return others if refused.elsewhere or refused.problem.code in ELSEWHERE else []


def _soon(wait: float | None) -> bool:
    return wait is not None and wait <= PATIENCE


def _left_alone(wait: float) -> Problem:
    words = "The model's server failed again and again, and is left alone for a while."
    return Problem(code="overloaded", message=words, retry_after=round(wait + 0.5))
