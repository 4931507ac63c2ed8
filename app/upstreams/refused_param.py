"""The parameter that an upstream's refusal names, as the client calls it. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from ..protocol.problems import Problem
from .error_body import ErrorBody, read

NAMES: Final[Mapping[str, str]] = {
    "frequency_penalty": "frequency_penalty",
    "logprobs": "top_logprobs",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "presence_penalty": "presence_penalty",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "service_tier": "service_tier",
    "temperature": "temperature",
    "tool_choice": "tool_choice",
    "tools": "tools",
    "top_logprobs": "top_logprobs",
    "top_p": "top_p",
    "verbosity": "text.verbosity",
}
"""Parameters of chat completions, and their names in a request of the Responses API. Others are positions in messages
that the client never wrote."""
_FIRST_NAME: Final = re.compile(r"[a-z_]{1,40}")


def with_param(problem: Problem, body: str | ErrorBody) -> Problem:
    """The same problem with the parameter that the refusal names, if the request was refused."""
    if problem.code != "invalid_value" or problem.param:
        return problem
    body = read(body) if isinstance(body, str) else body
    found = _FIRST_NAME.match(body.param)
    return replace(problem, param=NAMES.get(found[0], "")) if found else problem
