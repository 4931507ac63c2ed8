"""The websocket at `GET /v1/responses`: frames come in, and turns run one after the other.

One task reads, and answers at once the frames that start no turn; the task of the connection runs a turn for each
`response.create`, in their order. The connection ends

    when the client disconnects             with the running turn, whose upstream is closed
    when the server stops                   after the running turn, with 1001
    when it is an hour old                  after the running turn, with an error frame and 1001
    when no frame has come for ten minutes  with 1001

Before the upstream's first payload a failure is an `error` frame with an HTTP status, after it `response.failed`, as
over HTTP. Warnings stand beside the response in the first event, those that are known late in the last one.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from ..settings.gone import instead_of
from ..settings.tables import Caller
from ..turns.signals import Why
from ..turns.turn import Turn
from ..types.events import Event, LastEvent
from ..types.json import Json, encode
from ..types.parse import decode, invalid, typed, wrong_type
from ..types.problems import Problem, ProblemError, refuse
from ..types.request import ENCRYPTED_REASONING
from .endpoint import Call
from .memory import Memory, as_in_frame, items_of, refuse_outputs_without_call
from .pages import UPGRADE_REQUIRED
from .responses import turn_of
from .sse import data_of, escaped, problem_response, refuse_upgrade, with_warnings
from .state import State

_PATHS = ("/v1/responses", "/responses")
_DRAIN = "websocket.drain"
"""The message that a connection receives when the server stops."""
_GOING_AWAY = 1001
_MOST_WAITING = 16
"""Frames that may wait for their turn."""
_SHOWN = 64
"""Characters of a frame's type that are repeated."""
_DISCARD = "discard_partial_items"
"""The mode of a `response.interrupt`, and the only one that is known."""
_BETA = "responses_websockets="
"""In `OpenAI-Beta`: the client uses the protocol as it was before its release. Codex does, and sends `stream`."""
_ONLY_HTTP = ("background", "stream", "stream_options")
_OF_FRAMES = {"type", "previous_response_id", *_ONLY_HTTP}
_NOT_RUNNING = "response_not_found", "No response with this 'response_id' runs on this connection."
_NO_SUCH_MODE = "interrupt_not_supported", f"Invalid value for 'mode': the only known mode is '{_DISCARD}'."
_NOTHING_TO_CANCEL = "No such response runs on this connection. A frame without 'response_id' is about any that runs."
_FULL = Problem("rate_limit_exceeded", "Too many frames are waiting on this connection.", retry_after=1)
_STOPPING = Problem("overloaded", "This connection is closing. Open another one.", retry_after=1)
_TOO_OLD = Problem(
    code="websocket_connection_limit_reached",
    message="This connection is 60 minutes old, which is the limit. Open another one to continue.",
)


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol of a websocket. When the server stops, the application ends it, and not uvicorn at once."""

    def shutdown(self) -> None:
        """Tells the application; and drops a client that reads nothing, before uvicorn gives up on it."""
        if not self.handshake_complete or self.close_sent:
            return super().shutdown()
        message: Any = {"type": _DRAIN}
        self.queue.put_nowait(message)
        self.loop.call_later((self.config.timeout_graceful_shutdown or 2) - 2, self.transport.abort)
        return None


class WebSockets:
    """The endpoint, an ASGI application. Who may open no websocket gets an HTTP answer."""

    def __init__(self, state: State, *, idle: float = 600, lifetime: float = 3600) -> None:
        """`idle`: seconds without a frame after which a connection ends; `lifetime`: seconds for all of it."""
        self._state = state
        self._idle = idle
        self._lifetime = lifetime
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        state, server = self._state, self._state.settings.server
        path = scope["path"]
        try:
            if path.rstrip("/") not in _PATHS:
                message = f"There is no websocket at {path[:200]}. This server has one at /v1/responses."
                raise refuse("not_found", message)
            if not server.websocket:
                raise ProblemError(UPGRADE_REQUIRED)
            caller = state.callers.caller(Headers(scope=scope))
            if self._open >= server.max_websockets:
                message = f"This server has {server.max_websockets} open websockets, and takes no more."
                raise ProblemError(Problem("overloaded", message, retry_after=2))
        except ProblemError as error:
            return await refuse_upgrade(problem_response(error.problem), scope, receive, send)
        self._open += 1
        try:
            await receive()  # the offer
            with suppress(OSError):  # it has left
                await send({"type": "websocket.accept", "headers": Headers(state.limits.headers(caller)).raw})
            await _Connection(state, scope, receive, send).run(self._idle, self._lifetime)
        finally:
            self._open -= 1
        return None


@dataclass
class _Client:
    """The client of one turn. What is sent to it is JSON texts, one in a line."""

    _send: Send
    _memory: Memory
    _gone: asyncio.Event
    _items: list[Any] = field(default_factory=list)
    """The whole input."""
    _known: int = 0
    """How many of them the connection remembered."""
    _continued: Any = None
    _warnings: Sequence[str] = ()
    """They wait for the first event."""
    _sent: int = 0
    """Frames that have gone before a send was cancelled: it is repeated from its start."""
    streams: bool = True

    def body_of(self, raw: Json, *, lenient: bool) -> Json:
        """The body that would be posted over HTTP. Nothing is stored upstream, so reasoning must come encrypted.

        Raises `ProblemError`.
        """
        self._continued = previous = raw.get("previous_response_id")
        if raw.get("stream_id") is not None:
            raise refuse("invalid_value", f"'stream_id' is gone; {instead_of('stream_id')}.", "stream_id")
        for key in _ONLY_HTTP[:1] if lenient else _ONLY_HTTP:
            if raw.get(key) is not None:
                why = "every answer is streamed, and ends with its client"
                raise refuse("unsupported_parameter", f"'{key}' cannot be sent over a websocket: {why}.", key)
        body = {key: value for key, value in raw.items() if key not in _OF_FRAMES} | {"stream": True, "store": False}
        include = body.get("include") or []
        if isinstance(include, list) and ENCRYPTED_REASONING not in include:
            body["include"] = [*include, ENCRYPTED_REASONING]
        if not isinstance(previous, str | None):
            raise wrong_type("previous_response_id", "a string", previous)
        known = self._memory.recall(previous) if previous is not None else []
        given = body.get("input")
        if isinstance(given, str | list):
            new = items_of(given)
            if previous is not None:
                refuse_outputs_without_call(known, new)
                body["input"] = [*known, *new]
            self._items, self._known = [*known, *new], len(known)
        return body

    async def start(self, warnings: Sequence[str], _upstream: str) -> None:
        """The first event has these warnings in it."""
        self._warnings = warnings

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        """These events. A response is remembered before its last one is sent: clients go on at once."""
        if isinstance(last := events[-1], LastEvent):
            if last.response.status == "failed":
                self._memory.forget(self._continued)
            else:
                self._memory.keep(last.response, self._items)
        texts = [data_of(event) for event in events]
        texts[-1] = self._warned(texts[-1], warnings)
        return escaped(b"".join([text + b"\n" for text in texts]))

    async def send(self, data: bytes) -> None:
        """One frame for each event."""
        for text in data.splitlines()[self._sent :]:
            await _send(self._send, self._warned(text, self._warnings))
            self._warnings = ()
            self._sent += 1
        self._sent = 0

    async def finish(self, data: bytes, _warnings: Sequence[str]) -> None:
        """The last frames, with these warnings in them."""
        await self.send(data)

    async def refuse(self, problem: Problem) -> None:
        """An error frame."""
        self._memory.forget(self._continued)
        message, param = (as_in_frame(text, self._known) for text in (problem.message, problem.param))
        await _send_error(self._send, replace(problem, message=message, param=param))

    async def left(self) -> None:
        """Return when the client has left."""
        await self._gone.wait()

    def _warned(self, text: bytes, warnings: Sequence[str]) -> bytes:
        return with_warnings(text, [as_in_frame(warning, self._known) for warning in warnings])


class _Connection:
    """One connection to its end."""

    def __init__(self, state: State, scope: Scope, receive: Receive, send: Send) -> None:
        self._state = state
        self._scope = scope
        self._headers = Headers(scope=scope)
        self._receive = receive
        self._send = send
        self._memory = Memory(state.settings.server.max_body_bytes)
        self._lenient = _BETA in "".join(self._headers.getlist("openai-beta"))
        self._waiting: asyncio.Queue[tuple[bytes, Json] | None] = asyncio.Queue()
        """Frames that start turns. None: there is a reason to end."""
        self._turn: Turn | None = None
        self._turns = 0
        self._gone = asyncio.Event()
        """Set when the client has left."""
        self._drains = False

    async def run(self, idle: float, lifetime: float) -> None:
        """Serve it until it ends."""
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read())
            await self._serve(idle, lifetime)
            reading.cancel()

    async def _serve(self, idle: float, lifetime: float) -> None:
        now = asyncio.get_running_loop().time
        expires = now() + lifetime
        with suppress(TimeoutError):
            while now() < expires and not self._drains and not self._gone.is_set():
                async with asyncio.timeout_at(min(now() + idle, expires)):
                    frame = await self._waiting.get()
                if frame is None:
                    break
                await self._answer(*frame)
        if self._gone.is_set():
            return
        if self._drains:
            while not self._waiting.empty():
                if self._waiting.get_nowait() is not None:
                    await _send_error(self._send, _STOPPING)
        elif now() >= expires:
            await _send_error(self._send, _TOO_OLD)
        with suppress(OSError):
            await self._send({"type": "websocket.close", "code": _GOING_AWAY})

    async def _answer(self, frame: bytes, raw: Json) -> None:
        """The turn of a frame. Its caller is looked up anew: the keys may have changed."""
        state, scope = self._state, self._scope
        self._turns += 1
        scope = {**scope, "request_id": f"{scope['request_id']}-{self._turns}"}
        client = _Client(self._send, self._memory, self._gone)
        caller = Caller()
        try:
            caller = state.callers.caller(self._headers)
            with state.limits.slot(caller, state.settings.server) as free:
                await state.wait_if_large(frame, self._memory.body)
                call = Call(state, scope, self._receive, self._send, caller, free, {}, frame)
                body, continued = client.body_of(raw, lenient=self._lenient), raw.get("previous_response_id")
                turn = turn_of(call, body, client, continued)
                self._turn = turn
                await state.run(turn, caller, frame, self._headers)
            if turn.finish == "disconnected":  # it reads nothing, if it is there
                self._gone.set()
        except ProblemError as error:
            await client.refuse(error.problem)
            state.ended(scope, caller, "refused", error.problem, body=frame)
        finally:
            self._turn = None

    async def _read(self) -> None:
        try:
            while (message := await self._receive())["type"] != "websocket.disconnect":
                if message["type"] == _DRAIN:
                    self._drains = True
                    self._waiting.put_nowait(None)
                    continue
                frame = message["bytes"] if "bytes" in message else message["text"].encode()
                await self._state.wait_if_large(frame)
                try:
                    await self._arrived(frame)
                except ProblemError as error:
                    await _send_error(self._send, error.problem)
        finally:
            self._gone.set()
            self._waiting.put_nowait(None)

    async def _arrived(self, frame: bytes) -> None:
        """Raises `ProblemError` for a frame without an effect."""
        raw, kind = typed(decode(frame), "")
        match kind:
            case "response.create":
                if self._waiting.qsize() >= _MOST_WAITING:
                    raise ProblemError(_FULL)
                self._waiting.put_nowait((frame, raw))
            case "response.interrupt":
                if (why := self._interrupted(raw)) is not None:
                    error = {"code": why[0], "message": why[1], "type": "invalid_request_error"}
                    told = {"type": "response.interrupt.failed", "sequence_number": 0, "error": error}
                    await _send(self._send, encode({**told, "response_id": raw.get("response_id")}))
            case "response.cancel":
                if not self._ends(raw, Why.CANCELLED):
                    raise refuse("invalid_value", _NOTHING_TO_CANCEL, "response_id")
            case _:
                if kind.startswith("response.") and (instead := instead_of(kind)):
                    raise refuse("invalid_value", f"'{kind}' is gone; {instead}.", "type")
                raise invalid("type", f"this server takes 'response.create' frames, and knows no '{kind[:_SHOWN]}'")

    def _interrupted(self, raw: Json) -> tuple[str, str] | None:
        """Interrupts the running response; or why not."""
        if raw.get("mode", _DISCARD) != _DISCARD:
            return _NO_SUCH_MODE
        begun = self._turn is not None and self._turn.response_id is not None
        return None if begun and self._ends(raw, Why.INTERRUPTED) else _NOT_RUNNING

    def _ends(self, raw: Json, why: Why) -> bool:
        """Whether this frame ends the running turn."""
        named, turn = raw.get("response_id"), self._turn
        if isinstance(named, dict | list):
            raise wrong_type("response_id", "a string", named)
        return turn is not None and named in (None, turn.response_id) and turn.signals.signal(why)


async def _send(send: Send, text: bytes) -> None:
    with suppress(OSError, RuntimeError):  # it is closed, as the reader will be told
        await send({"type": "websocket.send", "text": text.decode()})


async def _send_error(send: Send, problem: Problem) -> None:
    error = {**problem.body()["error"], "message": problem.failed_message}
    await _send(send, encode({"type": "error", "status": problem.status, "error": error}))
