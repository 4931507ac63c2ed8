"""The way in: what every request gets, and what each POST gets: its caller, a slot for its turn, and its body."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..observe.log import log
from ..settings.tables import Caller
from ..types.json import Json
from ..types.problems import ProblemError
from ..types.response import new_id
from .body import Body, LeftError
from .sse import answer, json_answer, problem_response, refuse_upgrade
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
            refusal = self._state.hosts.answer(scope)
            if refusal is not None and scope["type"] == "websocket":
                await refuse_upgrade(refusal, scope, receive, sent)
            else:
                await (refusal or self._app)(scope, receive, sent)
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
    free: Callable[[], None]
    """Frees its slot, before the request ends."""
    headers: dict[str, str]
    """For every answer to this caller: what its limits leave it."""
    body: bytes

    async def answer(self, body: Json, headers: Mapping[str, str], finish: str, model: str | None) -> None:
        """Answers without a turn."""
        await answer(self.send, json_answer(body, {**self.headers, **headers}))
        self.state.ended(self.scope, self.caller, finish, model=model)


class Endpoint:
    """An endpoint: a plain ASGI application. `serve` answers, or raises `ProblemError`."""

    def __init__(self, state: State, serve: Callable[[Call], Awaitable[None]]) -> None:
        self._state = state
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        state, server = self._state, self._state.settings.server
        given = Headers(scope=scope)
        body, caller, data = Body(receive, given, state.reading), Caller(), b""
        try:
            caller = state.callers.caller(given)
            with state.limits.slot(caller, server) as free:
                headers = state.limits.headers(caller)
                data = await body.read(server.max_body_bytes)
                await state.wait_if_large(data)
                await self._serve(Call(state, scope, receive, send, caller, free, headers, data))
        except ProblemError as error:
            headers = state.limits.headers(caller)
            if not await body.drop():
                headers["connection"] = "close"
            await answer(send, problem_response(error.problem, headers))
            state.ended(scope, caller, "refused", error.problem, body=data)
        except LeftError:
            state.ended(scope, caller, "disconnected")
