"""Events -> bytes, and the two ways in which a response reaches a client over HTTP."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ..types.events import Event, LastEvent, Relayed, RelayedLast
from ..types.json import encode
from ..types.problems import Problem, ProblemError
from .body import ACCEPTED

HeaderList = Sequence[tuple[bytes, bytes]]
DONE = b"data: [DONE]\n\n"
"""The end of a stream. The specification requires it; every client ignores it."""
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
_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


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


def warned(warnings: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """The header with these warnings, if there are any: ASCII, and no longer than clients read."""
    if not warnings:
        return []
    told: list[str] = []
    for warning in warnings:
        told.append(warning[:_LONGEST])
        if len(json.dumps(told)) > _ROOM:
            told[-1] = f"and {len(warnings) - len(told) + 1} more, in the server's log"
            break
    return [(b"x-am-warnings", json.dumps(told).encode())]


async def answer(send: Send, status: int, body: Any, headers: HeaderList = ()) -> None:
    """A whole answer of JSON."""
    data = body if isinstance(body, bytes) else encode(body)
    sent = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": data})


async def answer_problem(send: Send, problem: Problem, headers: HeaderList = ()) -> None:
    """The problem as an HTTP error."""
    own = [(name.encode(), value.encode()) for name, value in headers_of(problem).items()]
    await answer(send, problem.status, problem.body(), [*own, *headers])


class _Client:
    """A client over HTTP."""

    def __init__(self, receive: Receive, send: Send, headers: HeaderList = (), *, names_upstream: bool = False) -> None:
        """`headers` of every answer to this caller; `names_upstream`: it may know which upstream answers."""
        self._receive = receive
        self._send = send
        self._headers = headers
        self._names_upstream = names_upstream

    async def send(self, data: bytes) -> None:
        """A piece of the answer, and not the last."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def refuse(self, problem: Problem) -> None:
        """An HTTP error."""
        await answer_problem(self._send, problem, self._headers)

    async def left(self) -> None:
        """Return when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _known(self, upstream: str) -> list[tuple[bytes, bytes]]:
        """The headers of an answer by this upstream."""
        named = [(b"x-am-upstream", upstream.encode("ascii", "backslashreplace"))]
        return [*self._headers, *(named if upstream and self._names_upstream else ())]


class StreamClient(_Client):
    """A client that gets events as they come."""

    streams = True
    encode = staticmethod(frames)

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        """The status line."""
        headers = [*_STREAM, *self._known(upstream), *warned(warnings)]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def finish(self, data: bytes, _warnings: Sequence[str]) -> None:
        """The last piece, with its warnings in it."""
        await self._send({"type": "http.response.body", "body": data + DONE, "more_body": False})


class WholeClient(_Client):
    """A client that gets the response at the end."""

    streams = False

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        """The status line comes with the answer."""
        self._warnings, self._upstream = warnings, upstream

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        """The response in the last of these events; its warnings are in the header."""
        last = events[-1]
        if isinstance(last, RelayedLast):
            return encode(last.body["response"])
        return encode(last.response) if isinstance(last, LastEvent) else b""

    async def finish(self, data: bytes, warnings: Sequence[str]) -> None:
        """The response."""
        await answer(self._send, 200, data, [*self._known(self._upstream), *warned([*self._warnings, *warnings])])


_CHATS = frozenset({"/chat/completions", "/completions", "/messages", "/api/chat", "/api/generate"})
"""Paths of chat completions, their predecessor, Anthropic's messages and Ollama's own API."""
_PROBES = frozenset({"/health", "/healthz", "/livez", "/ping", "/ready", "/readyz"})
_OURS = ("/responses", "/responses/compact", "/responses/input_tokens", "/models")


def headers_of(problem: Problem) -> dict[str, str]:
    """The headers that belong to a problem."""
    headers = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    return headers | ({"accept-encoding": ACCEPTED} if problem.code == "unsupported_encoding" else {})


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as an answer; also to the offer of a websocket."""
    return JSONResponse(problem.body(), problem.status, {**headers_of(problem), **(headers or {})})


async def refuse_upgrade(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the offer of a websocket like any request."""
    with suppress(OSError):  # it has left
        await answer(scope, receive, send)
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
        return problem_response(Problem("method_not_allowed", message), error.headers)
    return problem_response(Problem("not_found", f"{message} {_advice(path)}"))


async def on_fault(request: Request, _error: Exception) -> Response:
    """The answer to a fault of ours."""
    message = f"This server failed. Its log says why; the request id is {request.scope['request_id']}."
    return problem_response(Problem("internal_error", message))


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
