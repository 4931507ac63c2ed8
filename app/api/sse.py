"""Events -> bytes, and whole answers: also those that tell of a problem, at any path."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..turns.turn import fault_of_ours
from ..types.events import Event, Relayed, RelayedLast
from ..types.json import encode
from ..types.problems import Problem, ProblemError
from .body import ACCEPTED

_LINE_ENDS = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)
"""Common clients split lines at these characters, inside JSON too."""
_ROOM = 4000
"""Bytes of warnings in a header: clients and proxies read about 8,000 in all."""
_LONGEST = 500
"""Characters of one."""


def data_of(event: Event) -> bytes:
    """The JSON of an event."""
    return encode(event.body if isinstance(event, (Relayed, RelayedLast)) else event)


def frames(events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
    """Events as one string of bytes, with these warnings in the last. LF only: some clients fail at CR LF."""
    text = b""
    for event in events:
        if isinstance(event, (Relayed, RelayedLast)):
            text += b"event: %b\ndata: %b\n\n" % (event.body["type"].encode(), encode(event.body))
        else:
            text += b"event: %b\ndata: %b\n\n" % (str(event.__struct_config__.tag).encode(), encode(event))
    if warnings:
        text = with_warnings(text[:-2], warnings) + b"\n\n"
    return text if text.isascii() else escaped(text)  # a search takes ten times as long


def with_warnings(event: bytes, warnings: Sequence[str]) -> bytes:
    """An event with one more member, if there are any warnings."""
    return event[:-1] + b',"x_am_warnings":' + encode(warnings) + b"}" if warnings else event


def escaped(text: bytes) -> bytes:
    """Events without characters that clients take for the end of a line."""
    for raw, escaped in _LINE_ENDS:
        text = text.replace(raw, escaped)
    return text


def warned(warnings: Sequence[str]) -> dict[str, str]:
    """The header with these warnings, if there are any: ASCII, and no longer than clients read."""
    if not warnings:
        return {}
    told: list[str] = []
    for warning in warnings:
        told.append(warning[:_LONGEST])
        if len(json.dumps(told)) > _ROOM:
            told[-1] = f"and {len(warnings) - len(told) + 1} more, in the server's log"
            break
    return {"x-am-warnings": json.dumps(told)}


def json_answer(body: Any, headers: Mapping[str, str] | None = None, status: int = 200) -> Response:
    """A whole answer of JSON."""
    return Response(body if isinstance(body, bytes) else encode(body), status, headers, "application/json")


_OF_PROBLEMS = {
    "unsupported_encoding": {"accept-encoding": ACCEPTED},
    "upgrade_required": {"upgrade": "websocket", "connection": "upgrade"},
}
"""Headers, by the code of a problem."""


def problem_response(problem: Problem, headers: Mapping[str, str] = {}) -> Response:
    """The problem as an answer; also to the offer of a websocket."""
    wait = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    return json_answer(problem.body(), {**wait, **_OF_PROBLEMS.get(problem.code, {}), **headers}, problem.status)


async def answer(send: Send, response: Response) -> None:
    """Sends a whole answer."""
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


_CHATS = frozenset({"/chat/completions", "/completions", "/messages", "/api/chat", "/api/generate"})
"""Paths of chat completions, their predecessor, Anthropic's messages and Ollama's own API."""
_PROBES = frozenset({"/health", "/healthz", "/livez", "/ping", "/ready", "/readyz"})
_OURS = ("/responses", "/responses/compact", "/responses/input_tokens", "/models")


async def refuse_upgrade(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the offer of a websocket like any request."""
    with suppress(OSError):  # it has left
        await refusal(scope, receive, send)
        for _ in range(3):  # the offer, the answer, the end: uvicorn takes it for a fault if we return before
            await receive()


async def on_problem(_request: Request, error: Exception) -> Response:
    """The answer to a `ProblemError`."""
    assert isinstance(error, ProblemError)  # noqa: S101 — registered for nothing else
    return problem_response(error.problem)


async def on_http_error(request: Request, error: Exception) -> Response:
    """The answer at any other path, and to any other method."""
    assert isinstance(error, HTTPException)  # noqa: S101 — registered for nothing else
    path = request.scope["path"]
    message = f"{error.detail}: {request.method} {path[:200]}."
    if error.status_code == 405:
        return problem_response(Problem("method_not_allowed", message), error.headers or {})
    return problem_response(Problem("not_found", f"{message} {_advice(path)}"))


async def on_fault(request: Request, _error: Exception) -> Response:
    """The answer to a fault of ours."""
    return problem_response(fault_of_ours(request.scope["request_id"]))


def _advice(path: str) -> str:
    """What a client probably wants that asks for this path."""
    rest = path.removeprefix("/v1").rstrip("/")
    if rest in _CHATS:
        return "AM Proxy speaks the Responses API: POST /v1/responses, with the conversation in `input`."
    if (ours := next((each for each in _OURS if rest.endswith(each)), None)) is not None:
        return f"The path is /v1{ours}: a base URL ends with /v1, and with nothing after it."
    if rest in _PROBES:
        return "GET /health/live and GET /health/ready tell how this server is."
    first = rest.removeprefix("/").partition("/")[0][:64]
    no = f", and no {first}" if first else ""
    return f"AM Proxy has the Responses API only: POST /v1/responses{no}. GET /openapi.json describes it."
