"""What the log is told of litellm's errors: the class of one that the operator must mend, never its text."""

import logging

from app.protocol.problems import Problem
from app.upstreams.litellm_errors import cause_of, operators_fault, problem_of

log = logging.getLogger("am_proxy")


def logged_problem(error: Exception, provider: str | None, *, model: str, secret: str | None, asked: bool) -> Problem:
    """What the client is told of this error, with a warning in the log if the operator must mend something."""
    problem = problem_of(error, model=model, secret=secret, asked=asked)
    if not asked and operators_fault(error) == problem:
        log.warning("%s: %s %s", provider, cause_of(error), problem.message)
    return problem
