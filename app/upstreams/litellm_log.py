"""Log lines about litellm's errors: the class of one that the operator must correct, never its text."""

import logging

from app.protocol.problems import Problem
from app.upstreams.litellm_errors import cause_of, operator_problem, problem_of

log = logging.getLogger("am_proxy")


def logged_problem(error: Exception, provider: str | None, *, model: str, secret: str | None, asked: bool) -> Problem:
    """The problem that the client gets, with a warning in the log if the operator must correct something."""
    problem = problem_of(error, model=model, secret=secret, asked=asked)
    if not asked and operator_problem(error) == problem:
        log.warning("%s: %s %s", provider, cause_of(error), problem.message)
    return problem
