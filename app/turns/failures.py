"""Problems of turns that fail: by an upstream that is silent or slow, or by an error of this server."""

from typing import Final

from ..protocol.problems import Problem

SILENT: Final = Problem(code="upstream_error", message="The model's server closed the connection without an answer.")


def our_fault(request_id: str) -> Problem:
    """The problem of a turn that fails by an error of this server."""
    return Problem(code="internal_error", message=f"AM Proxy failed; its log says more under {request_id}.")


def too_slow(what: str, seconds: float) -> Problem:
    """The problem of an upstream that exceeded a time limit."""
    return Problem(code="upstream_timeout", message=f"The model's server {what}: it was given {seconds:g} seconds.")
