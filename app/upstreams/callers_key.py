"""An ask at the caller's own expense: with their key, and so with their mistake if it is the wrong one."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from app.protocol.problems import Problem
from app.upstreams.port import UpstreamBroke, UpstreamRefused

PayloadT = TypeVar("PayloadT")


def callers_fault(problem: Problem) -> Problem:
    """The same problem, as the caller must hear it."""
    if problem.code != "upstream_auth_error":
        return problem
    return Problem(code="invalid_api_key", message="The upstream of this model does not take your key.")


async def at_callers_expense(payloads: AsyncGenerator[PayloadT]) -> AsyncGenerator[PayloadT]:
    """The same payloads. What would be this server's own fault in a refused key is the caller's here."""
    async with aclosing(payloads):
        try:
            async for payload in payloads:
                yield payload
        except UpstreamRefused as error:
            raise error.with_problem(callers_fault(error.problem)) from None
        except UpstreamBroke as error:
            raise UpstreamBroke(callers_fault(error.problem)) from None
