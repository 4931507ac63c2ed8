"""Asks with the caller's own key: if the upstream refuses the key, the error is the caller's, not the operator's."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from ..protocol.problems import Problem
from .port import UpstreamBroke, UpstreamRefused

PayloadT = TypeVar("PayloadT")


def callers_problem(problem: Problem) -> Problem:
    """The problem for the caller: a refused key is the caller's own."""
    if problem.code != "upstream_auth_error":
        return problem
    return Problem(code="invalid_api_key", message="The upstream of this model does not accept your key.")


async def with_callers_errors(payloads: AsyncGenerator[PayloadT]) -> AsyncGenerator[PayloadT]:
    """The same payloads; an error about the key becomes the caller's."""
    async with aclosing(payloads):
        try:
            async for payload in payloads:
                yield payload
        except (UpstreamRefused, UpstreamBroke) as error:
            error.problem = callers_problem(error.problem)
            raise
