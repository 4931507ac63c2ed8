"""What every request gets: an id, and the time it took; and an answer in OpenAI's form to whatever goes wrong."""

import re
import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..observe.log import log
from ..types.problems import Problem
from ..types.response import new_id
from .sse import answer_problem

_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")


class Middleware:
    """Around all endpoints."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; or the lifespan."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = given if _ID.fullmatch(given) else new_id("req").encode()
        scope["request_id"] = request_id.decode()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                took = str(round((time.monotonic() - began) * 1000)).encode()
                added = [(b"x-request-id", request_id), (b"openai-processing-ms", took)]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception:  # FastAPI has answered, by `failed`
            log.exception("request %s", scope["request_id"])
        return None


async def failed(request: Request, _error: Exception) -> Response:
    """The answer to a fault of ours."""
    message = f"This server failed. Its log says why; the request id is {request.scope['request_id']}."
    return JSONResponse(Problem(code="internal_error", message=message).body(), 500)


async def not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    """The answer at any other path."""
    message = f"There is no {scope['path'][:200]} here. The API is at /v1/responses and /v1/models."
    await answer_problem(send, Problem(code="not_found", message=message))
