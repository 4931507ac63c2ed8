"""The POST endpoints: a turn, streamed or as one JSON object; a summary of a conversation; a count of tokens.

Theory of operation
-------------------
Each endpoint is an ASGI application, as the websocket's is, and is reached without the framework (`DirectEndpoints`).
A stream waits for its model most of the time, and there may be thousands. So its stack keeps nothing that is not
needed any more: the request is read and parsed in `_begin`, which has returned before the waiting starts.

Before the first byte every failure is an HTTP response. After it, the turn reports a failure in the stream. So an
answer without `stream` that fails is an HTTP error at any time: nothing of it has been sent.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..emitter.encoded_size import size_of
from ..off_loop import off_loop
from ..protocol.events import Event, LastEvent, RelayedLast, is_last
from ..protocol.problems import Problem, ProblemError
from ..protocol.warnings import ClientWarning
from ..settings import Server
from ..turns.lifecycle import ClientGoneError, TurnLifecycle
from ..turns.log import TurnLog, told_by
from ..turns.service import BegunTurn, TurnService
from ..turns.warning_output import in_header, not_told
from . import sse
from .auth import Auth, vouch
from .body_writer import BodyWriter, body_writer
from .middleware import error_response
from .receiving import Bodies, HeldBody, UntilDisconnect
from .request_headers import value_of

OK: Final = HTTPStatus.OK.value
COUNTED_BY: Final = "x-am-token-count"
"""The header that says whether the upstream counted."""
FAILED: Final = Problem(code="upstream_error", message="The model's server failed while it answered.")
SUMMARY_CUT: Final = ClientWarning("max_output_tokens", "summary", "The summary was cut off at a limit of the model.")


class DirectEndpoints:
    """Passes the requests of some endpoints straight to them, and all others to the application.

    The framework's routing and middleware would take a tenth of the time of a small request.
    """

    def __init__(self, app: ASGIApp, endpoints: Mapping[tuple[str | None, str], ASGIApp]) -> None:
        self._app = app
        self._endpoints = endpoints
        """By method and path. A websocket has no method."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """ASGI. It is no coroutine itself, because the application that it calls may wait for a long time."""
        key = scope.get("method"), scope.get("path", "")
        return self._endpoints.get(key, self._app)(scope, receive, send)


@dataclass(eq=False)
class TurnEndpoint(ABC):
    """The base class of these endpoints: authenticates a request, admits its turn, and reads its body."""

    service: TurnService
    auth: Auth
    bodies: Bodies
    server: Server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        try:
            told = told_by(Headers(scope=scope))
            async with (
                self._turn(request_id=scope["state"]["request_id"], **told) as turn,
                UntilDisconnect(scope, receive) as client,
            ):
                response = await self._serve(turn, scope, client, send)
        except ProblemError as error:
            response = error_response(error.problem)
        except ClientGoneError:
            return
        if response is not None:
            await response(scope, receive, send)

    @abstractmethod
    async def _serve(
        self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect, send: Send
    ) -> HttpResponse | None:
        """The response, to be sent when the turn has ended; None if it has been sent.

        `ClientGoneError` is raised in it when the client disconnects.
        """

    def _turn(self, **fields: Any) -> TurnLifecycle:
        return self.service.turn(**fields)

    def _admitted(self, turn: TurnLifecycle, scope: Scope) -> Headers:
        """Admits the turn; returns the headers of its request."""
        headers = Headers(scope=scope)
        caller = self.auth.caller(headers)
        vouch(scope, caller)
        try:
            turn.admit(caller)
            vouch(scope)
        finally:  # a refusal has these headers too
            scope["state"]["headers"] = self.service.limits.headers(caller)
        turn.log.reached("admitted")
        return headers

    def _body(self, turn: TurnLifecycle, headers: Headers, client: UntilDisconnect) -> HeldBody:
        """The body of an admitted turn, as a context."""

        def received() -> None:
            client.listen()
            turn.log.reached("body")

        return self.bodies.read(headers, client.receive, turn.caller, received)


class CreateEndpoint(TurnEndpoint):
    """POST /v1/responses. Chooses SSE or JSON by the body's `stream` alone."""

    async def _serve(
        self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect, send: Send
    ) -> HttpResponse | None:
        running, stream = await self._begin(turn, scope, client)
        if not stream:
            return await self._response(turn, running)
        await running.open(self.server.first_payload_wait)
        turn.log.note(status=OK)
        await _stream(turn, running, send, body_writer(scope))
        return None

    async def _begin(self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect) -> tuple[BegunTurn, bool]:
        headers = self._admitted(turn, scope)
        async with self._body(turn, headers, client) as body:
            create = await self.service.read(body, turn)
            originator = value_of(headers.raw, b"originator")
            return await self.service.begin(create, turn, originator=originator), create.stream

    @staticmethod
    async def _response(turn: TurnLifecycle, running: BegunTurn) -> HttpResponse:
        last = await _answer(turn, running, if_failed=" No part of the answer is returned.")
        body = await _body_of(last, running.size)
        turn.log.note(status=OK)
        return _json(body, in_header([*running.warnings, *running.late_warnings]))


class SummaryEndpoint(TurnEndpoint):
    """POST to `SUMMARY_PATH`: answers with a summary alone."""

    async def _serve(self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect, send: Send) -> HttpResponse:  # noqa: ARG002 — it is sent later
        running, kept = await self._begin(turn, scope, client)
        last = await _answer(turn, running)
        turn.log.note(status=OK)
        cut = [SUMMARY_CUT] if last.response.status == "incomplete" else []
        body = await self.service.summary_body(last, kept, running.size)
        return _json(body, in_header([*running.warnings, *running.late_warnings, *cut]))

    async def _begin(
        self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect
    ) -> tuple[BegunTurn, list[dict[str, Any]]]:
        async with self._body(turn, self._admitted(turn, scope), client) as body:
            create = await self.service.read_for_summary(body, turn)
            running = await self.service.begin(create, turn, originator="")
            return running, await self.service.kept(create)


class CountEndpoint(TurnEndpoint):
    """POST /v1/responses/input_tokens: how many tokens a turn would read. Its model is not asked to answer."""

    def _turn(self, **fields: Any) -> TurnLifecycle:
        return self.service.count_only(**fields)

    async def _serve(self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect, send: Send) -> HttpResponse:  # noqa: ARG002 — it is sent later
        headers = self._admitted(turn, scope)
        async with self._body(turn, headers, client) as body:
            create = await self.service.read(body, turn)
            counted, warnings = await self.service.count(create, turn, originator=value_of(headers.raw, b"originator"))
        turn.log.note(finish="counted", status=OK)
        count = {"object": "response.input_tokens", "input_tokens": counted.tokens}
        counted_by = {COUNTED_BY: "upstream" if counted.by_upstream else "estimated"}
        return JSONResponse(count, headers=in_header(warnings) | counted_by)


async def last_event(turn: TurnLifecycle, running: BegunTurn) -> LastEvent | RelayedLast:
    """The event that ends a turn."""
    last: Event | None = None
    async for batch in running.batches():
        turn.sends(batch)
        last = batch[-1] if batch else last
    return sse.checked_last(last)


async def _answer(turn: TurnLifecycle, running: BegunTurn, *, if_failed: str = "") -> LastEvent | RelayedLast:
    """The event that ends a turn of which nothing has been sent. Raises `ProblemError` if the turn fails.

    `if_failed` is added to the message of a turn that fails after it began.
    """
    await running.open(running.clocks.turn)
    last = await last_event(turn, running)
    if last.response.status == "failed":
        problem = running.problem or FAILED
        raise ProblemError(replace(problem, message=problem.message + if_failed))
    return last


async def _stream(turn: TurnLifecycle, running: BegunTurn, send: Send, writer: BodyWriter | None) -> None:
    async def send_body(body: bytes) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": True})

    told = running.warnings
    await send(sse.head(in_header(told)))
    if writer is not None:
        running.send_directly(_DirectClient(writer, turn.log, running.size))
    async for batch in running.batches():
        turn.sends(batch)
        late = [*not_told(running.warnings, told), *running.late_warnings] if is_last(batch) else ()
        if sse.is_short(batch, running.size):
            await send_body(sse.frames(batch, late))
        else:
            await sse.send_one_by_one(batch, late, running.size, send_body)
    await send({"type": "http.response.body", "body": sse.DONE, "more_body": False})


class _DirectClient(BodyWriter):
    """The client of one stream."""

    __slots__ = ("_log", "_size")

    def __init__(self, writer: BodyWriter, turn_log: TurnLog, size: int) -> None:
        """`size`: bytes of its request."""
        super().__init__(writer.cycle)
        self._log = turn_log
        self._size = size

    def send(self, batch: list[Event]) -> bool:
        """Sends these events, unless they are long."""
        if not sse.is_short(batch, self._size):
            return False
        self._log.sent(batch)
        self.write(sse.frames(batch))
        return True


async def _body_of(last: LastEvent | RelayedLast, echoed: int) -> bytes:
    """The response in the last event, as JSON: it is built in no other way. `echoed`: bytes of its request."""
    if isinstance(last, RelayedLast):
        return last.body
    return await off_loop(size_of(last, echoed), msgspec.json.encode, last.response)


def _json(body: bytes, headers: dict[str, str]) -> HttpResponse:
    return HttpResponse(body, media_type="application/json", headers=headers)
