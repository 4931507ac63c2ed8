"""The first events of a turn, and its keep-alives until an upstream answers: made from the request alone."""

from ..emitter.lifecycle_events import Lifecycle
from ..emitter.opening_response import opening_response
from ..emitter.rules import ENDINGS, StopReason
from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..protocol.response import Identity, Sent


class RequestOpening:
    """Makes the events before an answer. They are sent only where an upstream keeps its client waiting."""

    def __init__(self, request: CreateResponse, identity: Identity) -> None:
        self._request: CreateResponse | None = request
        """Until a turn continues."""
        self._identity = identity
        self._sent = 0
        self._is_stopped = False
        self.problem: Problem | None = None
        """Why the turn failed."""

    @property
    def over(self) -> bool:
        """Whether the last event has been made."""
        return self._is_stopped or self.problem is not None

    def begin(self) -> list[Event]:
        """The first two events."""
        return self._lifecycle().begin()

    def keep_alive(self) -> list[Event]:
        """The second event once more."""
        return [self._lifecycle().in_progress([])]

    def fail(self, problem: Problem) -> list[Event]:
        """The last event of a turn that no upstream has answered."""
        self.problem = problem
        return [self._lifecycle().last(ENDINGS["failure"], output=[], usage=None, problem=problem)]

    def stop(self, reason: StopReason) -> list[Event]:
        """The last event of a turn that its client ends before an upstream has answered."""
        self._is_stopped = True
        return [self._lifecycle().last(ENDINGS[reason], output=[], usage=None)]

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return self._next()

    def hand_over(self) -> Sent:
        """What was sent, for the turn that continues the response."""
        self._request = None
        return Sent(self._sent)

    def _lifecycle(self) -> Lifecycle:
        assert self._request is not None  # noqa: S101 — our own misuse: another turn goes on
        created_at = self._identity.created_at
        response = opening_response(self._request, id=self._identity.id, created_at=created_at)
        return Lifecycle(response, next_number=self._next, now=lambda: created_at)

    def _next(self) -> int:
        number, self._sent = self._sent, self._sent + 1
        return number
