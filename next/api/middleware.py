"""What every request gets: an id, and the time it took; and a check of its Host and of the page that sends it."""

import re
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..observe.log import log
from ..types.response import new_id
from .state import State
from .websocket import refuse_upgrade

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
