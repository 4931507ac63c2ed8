"""Tells a request that its client has left, on servers that say so at once: others are asked by a task of their own."""

from collections.abc import Callable
from typing import Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from .body_writer import CYCLE

LEFT: Final = "am_left"
"""The key in a request's state of what is to be called when the client leaves."""


def client_left(cycle: RequestResponseCycle) -> None:
    """Called by the connection, when its client leaves before the response is complete."""
    cycle.disconnected = True
    cycle.message_event.set()
    if (left := cycle.scope["state"].get(LEFT)) is not None:
        left()


def call_when_left(scope: Scope, left: Callable[[], None]) -> bool:
    """Makes sure that this is called when the client leaves, until `forget`. False if this server cannot do that.

    All of the body must have been received.
    """
    refer = scope["state"].get(CYCLE)
    cycle: RequestResponseCycle | None = None if refer is None else refer()
    if cycle is None or cycle.disconnected:
        return False
    cycle.flow.resume_reading()  # a long body may have paused it, and the end of a connection is read
    scope["state"][LEFT] = left
    return True


def forget(scope: Scope) -> None:
    """Nothing is called any more. It would keep the whole turn in memory."""
    scope["state"].pop(LEFT, None)
