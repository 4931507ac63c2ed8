"""The choice of the upstream: a model's upstreams are asked in order, until one of them sends its first payload.

An upstream that could not be reached, or answers 429, 502, 503 or 529, is asked again, at once or after the short wait
that it names. If it fails again, the next of the model's upstreams is asked, in its own dialect: a new exchange is
made for it. A request that is itself invalid is not sent to another upstream. One that refuses what it gave
out in an earlier turn, such as reasoning that it has signed, is asked again without it; and one that cannot enforce the
schemas of a request, without asking it to. After the first payload no other upstream is asked.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..catalog import Route
from ..dialects.exchange import Exchange
from ..observe.metrics import count_error
from ..prompt.nouns import Model
from ..providers.table import ERROR_WORDS
from ..types.json import Json
from ..types.problems import Problem, ProblemError
from ..upstreams.errors import no_answer, of_key, too_slow
from ..upstreams.port import Answer, AskRecord, UpstreamError

Refused: TypeAlias = Callable[[Route, UpstreamError, bool], None]
"""Is told of an upstream that could not be asked, why, and whether what it was asked is asked again."""
_PATIENCE = 5
"""Seconds that an upstream may ask us to wait before it is asked again."""
ELSEWHERE = frozenset(
    {
        "insufficient_quota", "internal_error", "model_not_found", "overloaded", "rate_limit_exceeded",
        "unsupported_value", "upstream_auth_error", "upstream_error", "upstream_timeout",
    }
)  # fmt: skip
"""Codes of problems of an upstream, and not of what it is asked: the next one is asked then."""


class Begun(NamedTuple):
    """An answer that has begun, and the exchange that reads it."""

    route: Route
    exchange: Exchange
    answer: Answer
    payloads: list[Json]


async def ask(
    routes: Sequence[Route],
    exchange: Exchange,
    make: Callable[[Route], Awaitable[Exchange]],
    refused: Refused,
    asks: list[AskRecord] | None,
) -> Begun:
    """The first payloads of the first upstream that sends one. `exchange` is for the first route, `make` makes another.

    `asks` gets what upstreams are asked and send, for the record.

    Raises `UpstreamError` if all refuse: the last refusal.
    """
    refusal: UpstreamError | None = None
    ways = deque(routes)
    making: Exchange | None = exchange
    while ways:
        route = ways.popleft()
        if making is None:
            try:
                making = await make(route)
            except ProblemError:
                continue  # the request cannot be put to this model
        try:
            return await _ask_one(route, making, refused, asks)
        except UpstreamError as error:
            refusal, making = error, None
            if (again := without_refused(route.model, error.problem)) is not None:
                ways.appendleft(route._replace(model=again))
            elif error.problem.code not in ELSEWHERE:
                ways.clear()
            refused(route, error, bool(ways))
    assert refusal is not None  # noqa: S101 — there is a route
    raise refusal


def without_refused(model: Model, problem: Problem) -> Model | None:
    """The model, to be asked again without what its server refused; None if that can only be all of it."""
    if problem.code != "invalid_value":
        return None
    if not model.state_refused and ERROR_WORDS["state"].search(problem.message):
        return model._replace(state_refused=True)
    without = model.can.model_copy(update={"strict_tools": False, "structured_output": ()})
    return (
        model._replace(can=without) if without != model.can and ERROR_WORDS["schemas"].search(problem.message) else None
    )


async def _ask_one(route: Route, exchange: Exchange, refused: Refused, asks: list[AskRecord] | None) -> Begun:
    breaker = route.upstream.breaker
    breaker.check()
    for left in range(route.model.upstream.retries, -1, -1):
        try:
            asked = await _opened(route, exchange, asks)
        except UpstreamError as error:
            if not left or error.wait is None or error.wait > _PATIENCE:
                breaker.failed(error)
                count_error(route.name, error.problem.code)
                raise
            refused(route, error, True)
            await asyncio.sleep(error.wait)
        else:
            breaker.answered()
            return asked
    raise AssertionError  # the last try returns or raises


async def _opened(route: Route, exchange: Exchange, asks: list[AskRecord] | None) -> Begun:
    answer: Answer | None = None
    record = None
    if asks is not None:
        asks.append(record := AskRecord(route.name, route.model.upstream_name))
    patience = route.model.upstream.timeout
    try:
        async with asyncio.timeout(patience):
            answer = await route.upstream.open(exchange.body, route.key, route.headers, record)
            payloads: list[Json] | None = []
            while not payloads:
                if (payloads := await answer.next()) is None:
                    raise no_answer(route.model.upstream.base_url)
            asked, answer = Begun(route, exchange, answer, payloads), None
            return asked
    except TimeoutError:
        error = too_slow("did not answer", patience, route.model.upstream.base_url)
    except UpstreamError as failed:
        error = of_key(failed, route.key)
    finally:
        if answer is not None:
            answer.close()
    if record is not None:
        record.refused(error)
    raise error
