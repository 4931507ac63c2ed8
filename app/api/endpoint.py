"""The way in: what every request gets, and what each POST gets: its caller, a slot for its turn, and its body."""

import re
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..observe.log import log
from ..settings.tables import Caller
from ..turns.limits import Slot
from ..types.problems import ProblemError
from ..types.response import new_id
from .body import Body, LeftError
from .sse import answer_problem, refuse_upgrade
from .state import State

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_FIRST = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
"""The types of the first message of an answer."""


class Middleware:
    """Around all endpoints."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; or the lifespan."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        given = Headers(scope=scope).getlist("x-request-id")
        scope["request_id"] = request_id = given[0] if given and _ID.fullmatch(given[0]) else new_id("req")
        added = [(b"x-request-id", request_id.encode()), *self._state.hosts.headers(scope)]

        async def sent(message: Message) -> None:
            if message["type"] in _FIRST:
                took = str(round((time.monotonic() - began) * 1000)).encode()
                headers = [*message.get("headers", ()), *added, (b"openai-processing-ms", took)]
                message = {**message, "headers": headers}
            await send(message)

        try:
            answer = self._state.hosts.answer(scope)
            if answer is not None and scope["type"] == "websocket":
                await refuse_upgrade(answer, scope, receive, sent)
            else:
                await (answer or self._app)(scope, receive, sent)
        except Exception:  # FastAPI has answered, by `on_fault`
            log.exception("request %s", scope["request_id"])
        return None


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
