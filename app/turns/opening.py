"""The first events of a turn, and its keep-alives until an upstream answers: made of the request alone."""

from msgspec.structs import replace

from app.emitter.opening_response import opening_response
from app.protocol.events import Event, ResponseCreated, ResponseFailed, ResponseInProgress
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity, Response, ResponseError, Sent


class RequestOpening:
    """Makes the events before an answer. They are sent only where an upstream keeps its client waiting."""

    def __init__(self, request: CreateResponse, identity: Identity) -> None:
        self._request: CreateResponse | None = request
        """Until another turn goes on."""
        self._identity = identity
        self._sent = 0
        self.problem: Problem | None = None
        """Why the turn failed."""

    @property
    def over(self) -> bool:
        """Whether the last event has been made."""
        return self.problem is not None

    def begin(self) -> list[Event]:
        """The first two events."""
        response = self._response()
        return [
            ResponseCreated(sequence_number=self._next(), response=response),
            ResponseInProgress(sequence_number=self._next(), response=response),
        ]

    def keep_alive(self) -> list[Event]:
        """The second event once more."""
        return [ResponseInProgress(sequence_number=self._next(), response=self._response())]

    def fail(self, problem: Problem) -> list[Event]:
        """The last event of a turn that no upstream has answered."""
        self.problem = problem
        error = ResponseError(code=problem.shape.failed_code, message=problem.failed_message)
        response = replace(self._response(), status="failed", error=error)
        return [ResponseFailed(sequence_number=self._next(), response=response)]

    def hand_over(self) -> Sent:
        """What was sent, for the turn that continues the response."""
        self._request = None
        return Sent(self._sent)

    def _response(self) -> Response:
        assert self._request is not None  # noqa: S101 — our own misuse: another turn goes on
        return opening_response(self._request, id=self._identity.id, created_at=self._identity.created_at)

    def _next(self) -> int:
        number, self._sent = self._sent, self._sent + 1
        return number
