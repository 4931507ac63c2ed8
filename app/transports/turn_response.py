"""The second half of a turn's walk: from an upstream that has been asked to the last byte of the answer.

Theory of operation
-------------------
A turn spends nearly all of its life here, waiting for its model, and there may be thousands. What led to it (routing,
the request, what was parsed of it) would stand on its stack for as long. So an endpoint returns an `Answering`, which
only leaves itself behind, and runs in the outermost room (`transports/deferred.py`) when all of that has returned.

Until the first byte whatever goes wrong is an HTTP answer. From then on it is told in the stream, by the turn itself.
"""

from contextlib import suppress
from http import HTTPStatus

from fastapi import Response as HttpResponse
from starlette.types import Receive, Scope, Send

from app.protocol.events import is_last
from app.protocol.problems import ProblemError
from app.protocol.warnings import in_header
from app.transports import last_response as whole
from app.transports import sse
from app.transports.body import ClientGoneError
from app.transports.deferred import leave
from app.transports.disconnect import UntilDisconnect
from app.transports.request_id import answer
from app.turns.limits import LEAVING
from app.turns.log import TurnLog
from app.turns.service import RunningTurn


class Answering(HttpResponse):
    """The answer to one turn, streamed or whole. Ends the turn however it ends itself, and writes its line."""

    def __init__(  # its base would make a body of it; this has none yet
        self, running: RunningTurn, turn_log: TurnLog, *, stream: bool, patience: float
    ) -> None:
        self._running = running
        self._log = turn_log
        self._stream = stream
        self._patience = patience
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Nothing may be awaited between this and the outermost room: what is not begun is not ended."""
        leave(scope, lambda outer: self._run(outer, receive, send))

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: HttpResponse | None = None
        try:
            with suppress(ClientGoneError):
                async with UntilDisconnect(receive):
                    await self._running.open(self._patience)
                    if self._stream:
                        await self._tell(send)
                    else:
                        response = await self._whole()
        except ProblemError as error:
            await self._running.stop()
            self._log.refused(error.problem)
            response = answer(error.problem)
        finally:
            await self._running.close()
        if response is not None:
            await response(scope, receive, send)

    async def _tell(self, send: Send) -> None:
        self._log.note(status=HTTPStatus.OK.value)

        async def piece(body: bytes) -> None:
            await send({"type": "http.response.body", "body": body, "more_body": True})

        await send(sse.head(in_header(self._running.warnings)))
        async for batch in self._running.batches():
            late = self._running.late_warnings if is_last(batch) else ()
            if sse.is_short(batch, self._running.size):
                await piece(sse.frames(batch, late))
            else:
                await sse.frames_apart(batch, late, self._running.size, piece)
        await send({"type": "http.response.body", "body": sse.DONE, "more_body": False})

    async def _whole(self) -> HttpResponse:
        response = await whole.last_response(self._running.batches(), self._running.size)
        if self._running.cut_short:
            raise ProblemError(LEAVING)
        self._log.note(status=HTTPStatus.OK.value)
        return whole.body(response, in_header([*self._running.warnings, *self._running.late_warnings]))
