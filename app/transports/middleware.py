"""The headers of every HTTP response (request id, processing time), and errors in OpenAI's form."""

import asyncio
import logging
import re
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from ..protocol.ids import NewId
from ..protocol.problems import Problem, ProblemError
from ..turns.limits import LEAVING
from .content_encoding import ACCEPTED
from .request_headers import value_of
from .wrong_paths import advice

INTERNAL_ERROR: Final = 1011
"""The close code of a websocket after an unexpected error of this server."""

log = logging.getLogger("am_proxy")

_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_FIRST: Final = {"http.response.start", "websocket.http.response.start", "websocket.accept"}
"""The types of the first message of a response."""
_CODES: Final = {
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
}
UPGRADE: Final = {"upgrade": "websocket", "connection": "upgrade"}
UPGRADE_REQUIRED: Final = Problem(
    code="upgrade_required",
    message="This is the Responses API of AM Proxy. It takes POST here, or a websocket where this server allows it. "
    "GET /v1/models lists the models, and GET /openapi.json describes the API.",
)


class RequestId:
    """The outermost middleware: sets the request's id and the response's headers; unexpected errors become a 500."""

    def __init__(self, app: ASGIApp, new_id: NewId) -> None:
        self._app = app
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = self._id_of(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        sent = False

        async def send_with_headers(message: Message) -> None:
            nonlocal sent
            if message["type"] in _FIRST:
                sent = True
                milliseconds = round((time.perf_counter() - began) * 1000)
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    *[(name.encode(), value.encode()) for name, value in scope["state"].get("headers", {}).items()],
                    (b"openai-processing-ms", b"%d" % milliseconds),
                ]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # by uvicorn, when the time for its shutdown is over
            if sent:
                raise
            await error_response(LEAVING)(scope, receive, send_with_headers)
        except Exception:
            log.exception("a request failed unexpectedly", extra={"request_id": request_id})
            if not sent:
                problem = Problem(
                    code="internal_error", message=f"AM Proxy failed; its log says more under {request_id}."
                )
                await error_response(problem)(scope, receive, send_with_headers)
            elif scope["type"] == "websocket":
                with suppress(OSError, RuntimeError):  # the connection may have been closed meanwhile
                    await send({"type": "websocket.close", "code": INTERNAL_ERROR})

    def _id_of(self, scope: Scope) -> str:
        request_id = value_of(scope["headers"], b"x-request-id")
        return request_id if _CLIENT_ID.fullmatch(request_id) else self._new_id("req")


def error_response(problem: Problem, headers: dict[str, str] | None = None) -> HttpResponse:
    """A problem as an HTTP response."""
    extra = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    if problem.code == "request_timeout":
        extra["connection"] = "close"  # the rest of the body would be read as the next request
    elif problem.code == "unsupported_encoding":
        extra["accept-encoding"] = ACCEPTED
    return HttpResponse(
        msgspec.json.encode(problem.body()),
        status_code=problem.shape.status,
        media_type="application/json",
        headers={**(headers or {}), **extra},
    )


async def on_problem(_request: Request, error: Exception) -> HttpResponse:
    """Handles `ProblemError`."""
    assert isinstance(error, ProblemError)  # noqa: S101 — registered for nothing else
    return error_response(error.problem)


async def on_framework_error(request: Request, error: Exception) -> HttpResponse:
    """Handles refusals of the framework: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 — registered for nothing else
    code = _CODES.get(HTTPStatus(error.status_code), "invalid_value")
    path = str(request.scope["path"])
    message = f"{error.detail}: {request.method} {path[:200]}"
    if code == "not_found":
        message += f". {advice(path)}"
    problem = Problem(code=code, message=message)
    return error_response(problem, dict(error.headers or {}))


async def on_unknown_websocket(websocket: WebSocket) -> None:
    """Refuses a websocket at any other path. After the framework's 403 some clients retry for seconds."""
    message = f"There is no websocket at {websocket.scope['path'][:200]}; there is one at /v1/responses."
    await websocket.send_denial_response(error_response(Problem(code="not_found", message=message)))
