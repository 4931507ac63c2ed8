"""The way into every endpoint that takes POST: the caller, a slot for its turn, and the body."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from ..settings.tables import Caller
from ..turns.limits import Slot
from ..types.problems import ProblemError
from .body import Body, LeftError
from .sse import answer_problem
from .state import State


class Call(NamedTuple):
    """A request that was let in."""

    state: State
    scope: Scope
    receive: Receive
    send: Send
    caller: Caller
    slot: Slot
    """It may be freed before the request ends."""
    headers: list[tuple[bytes, bytes]]
    """For every answer to this caller: what its limits leave it."""
    body: bytes


class Endpoint:
    """An endpoint: a plain ASGI application. `serve` answers, or raises `ProblemError`."""

    def __init__(self, state: State, serve: Callable[[Call], Awaitable[None]]) -> None:
        self._state = state
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        state, server = self._state, self._state.settings.server
        given = Headers(scope=scope)
        body, slot = Body(receive, given, state.reading), None
        headers: list[tuple[bytes, bytes]] = []
        caller, request_id, data = Caller(), scope["request_id"], b""
        try:
            caller = state.callers.caller(given)
            try:
                slot = state.limits.enter(caller, server)
            finally:
                headers = state.limits.headers(caller)
            data = await body.read(server.max_body_bytes)
            await self._serve(Call(state, scope, receive, send, caller, slot, headers, data))
        except ProblemError as error:
            if slot is not None:
                state.limits.leave(slot)
            if not await body.drop():
                headers.append((b"connection", b"close"))
            await answer_problem(send, error.problem, headers)
            state.ended(request_id, caller, "refused", error.problem, body=data)
        except LeftError:
            state.ended(request_id, caller, "disconnected")
        finally:
            if slot is not None:
                state.limits.leave(slot)
