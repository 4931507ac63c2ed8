"""POST /v1/responses/compact: a turn that only sums up, and what its client is to go on with."""

from typing import Any

import msgspec
from fastapi import Response as HttpResponse

from app.off_loop import off_loop
from app.protocol.event_sizes import size_of
from app.protocol.events import LastEvent, RelayedLast
from app.protocol.problems import Problem, ProblemError
from app.protocol.response import Response
from app.protocol.warnings import ClientWarning, in_header
from app.transports import last_response as whole
from app.transports.turn_response import Answering
from app.turns.log import TurnLog
from app.turns.service import RunningTurn

CUT = ClientWarning("max_output_tokens", "summary", "The summary was cut off at a limit of the model.")


class Compacting(Answering):
    """The answer, whole. A turn that failed is an HTTP error: there is no other way to say so."""

    def __init__(
        self,
        running: RunningTurn,
        turn_log: TurnLog,
        *,
        kept: list[dict[str, Any]],
        patience: float,
    ) -> None:
        super().__init__(running, turn_log, stream=False, patience=patience)
        self._kept = kept

    async def _whole(self) -> HttpResponse:
        last = await whole.last_event(self._running.batches())
        problem = self._running.problem
        if problem is not None or last.response.status == "failed":
            raise ProblemError(problem or Problem(code="upstream_error", message="The conversation was not summed up."))
        self._log.note(status=200)
        cut = [CUT] if last.response.status == "incomplete" else []
        size = size_of(last, self._running.size) + self._running.size  # with what is kept of the request
        body = await off_loop(size, self._told, last)
        return whole.body(body, in_header([*self._running.warnings, *self._running.late_warnings, *cut]))

    def _told(self, last: LastEvent | RelayedLast) -> bytes:
        if isinstance(last, RelayedLast):
            return last.body
        response: Response = last.response
        return msgspec.json.encode(
            {
                "id": response.id,
                "object": "response.compaction",
                "created_at": response.created_at,
                "output": [*self._kept, *response.output],
                "usage": response.usage,
            }
        )
