"""The choice of the upstream: a model's upstreams are asked in order, until one of them sends its first payload.

An upstream that could not be reached, or answers 429, 502, 503 or 529, is asked again, at once or after the short wait
that it names. If it fails again, the next of the model's upstreams is asked, in its own dialect: a new turn of the
dialect is made for it. A request that is itself invalid is not sent to another upstream. After the first payload no
other upstream is asked.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..catalog import Route
from ..dialects.turn import DialectTurn
from ..types.json import Json
from ..types.problems import Problem, ProblemError
from ..upstreams.errors import too_slow
from ..upstreams.port import Answer, UpstreamError

_PATIENCE = 5
"""Seconds that an upstream may ask us to wait before it is asked again."""
_ELSEWHERE = frozenset(
    {
        "insufficient_quota", "internal_error", "model_not_found", "overloaded", "rate_limit_exceeded",
        "upstream_auth_error", "upstream_error", "upstream_timeout",
    }
)  # fmt: skip
"""Codes of problems after which the next upstream is asked."""


class Asked(NamedTuple):
    """An answer that has begun, and the turn that reads it."""

    route: Route
    turn: DialectTurn
    answer: Answer
    payloads: list[Json]


async def first_payload(
    routes: Sequence[Route],
    turn: DialectTurn,
    make: Callable[[Route], DialectTurn],
    retried: Callable[[str], None],
    *,
    kept: bool,
) -> Asked:
    """The first payloads of the first upstream that sends one. `turn` is for the first route, `make` makes another.

    `retried` is told why another ask is made; `kept`: what the upstream sends is for the record.

    Raises `UpstreamError` if all refuse: the last refusal.
    """
    refusal: UpstreamError | None = None
    for index, route in enumerate(routes):
        if index:
            try:
                turn = make(route)
            except ProblemError:
                continue  # the request cannot be put to this model
            retried(refusal.cause if refusal else "")
        breaker = route.upstream.breaker
        try:
            breaker.check()
            for left in range(route.model.upstream.retries, -1, -1):
                try:
                    asked = await _opened(route, turn, kept=kept)
                except UpstreamError as error:
                    if not left or error.wait is None or error.wait > _PATIENCE:
                        breaker.failed(error)
                        raise
                    retried(error.cause)
                    await asyncio.sleep(error.wait)
                else:
                    breaker.answered()
                    return asked
        except UpstreamError as error:
            refusal = error
        if refusal is not None and refusal.problem.code not in _ELSEWHERE:
            break
    assert refusal is not None  # noqa: S101 — there is a route
    raise refusal


async def _opened(route: Route, turn: DialectTurn, *, kept: bool) -> Asked:
    answer: Answer | None = None
    patience = route.model.upstream.timeout
    try:
        async with asyncio.timeout(patience):
            answer = await route.upstream.open(turn.body, route.key)
            answer.pieces = [] if kept else None
            payloads: list[Json] = []
            while not payloads:
                payloads = await answer.next() or []
            asked, answer = Asked(route, turn, answer, payloads), None
            return asked
    except TimeoutError:
        raise too_slow("did not answer", patience, route.model.upstream.base_url) from None
    except UpstreamError as error:
        if route.key and error.problem.code == "upstream_auth_error":  # the caller's own key
            message = "The upstream of this model does not accept your key."
            raise UpstreamError(Problem(code="invalid_api_key", message=message), error.cause) from None
        raise
    finally:
        if answer is not None:
            answer.close()
