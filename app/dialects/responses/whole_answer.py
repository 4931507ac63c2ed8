"""Passes on one JSON object from another path of a server with the Responses API, with its ids marked."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from ...emitter.rules import StopReason
from ...json_text import json_bytes
from ...protocol.events import Event, RelayedLast
from ...protocol.problems import Problem
from ...protocol.request.create_response import CreateResponse
from ...protocol.response import NOTHING_SENT, Sent
from ...protocol.warnings import ClientWarning
from ..body_length import CHARACTERS_PER_TOKEN
from .endings import UNREADABLE, ending
from .marks import marked
from .relay_options import RelayOptions
from .relayed_body import to_responses

Json = dict[str, Any]


class PostedObject(Protocol):
    """The object that is requested at another path."""

    @property
    def members(self) -> Collection[str]:
        """The fields that a request may have there."""
        ...

    @property
    def object(self) -> str:
        """The `object` field of the answer."""
        ...


class RelayedObject:
    """The request body for that path, and the events for its answer, which is one object."""

    def __init__(
        self, request: CreateResponse, posted: PostedObject, *, model: str, options: RelayOptions, notes: Json
    ) -> None:
        relayed = to_responses(request, model=model, options=options)
        self.ask = {name: value for name, value in relayed.body.items() if name in posted.members}
        """Whether less may be sent, if the upstream refuses it as too long."""
        self.size = request.size
        """Bytes of the request."""
        self.warnings: Sequence[ClientWarning] = tuple(relayed.warnings)
        self.late_warnings: Sequence[ClientWarning] = ()
        self.notes = notes
        """Notes for the log."""
        self.problem: Problem | None = None
        """Why the turn failed."""
        self.over = False
        self._object = posted.object
        self._marks_ids = options.ids == "am"

    @property
    def length(self) -> int:
        """Estimated tokens of the request body."""
        return len(json_bytes(self.ask)) // CHARACTERS_PER_TOKEN + 1

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:  # noqa: ARG002 — nothing is streamed
        """No events."""
        self.ask = {}
        return []

    def receive(self, body: Json) -> list[Event]:
        """The object, as a last event."""
        if body.get("object") != self._object:
            return self.fail(UNREADABLE)
        return self._last(self._marked(body) if self._marks_ids else body, "completed")

    def keep_alive(self) -> list[Event]:
        """No events: nothing is streamed."""
        return []

    def end(self) -> list[Event]:
        """The last event, where no object arrived."""
        return self.fail(UNREADABLE)

    def fail(self, problem: Problem) -> list[Event]:
        """The last event of a turn that fails because of this problem."""
        self.problem = problem
        return self._last({"error": {"code": problem.code, "message": problem.message}}, "failed")

    def stop(self, reason: StopReason) -> list[Event]:
        """The last event of a turn that its client ends."""
        return self._last({"incomplete_details": {"reason": reason}}, "incomplete")

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return 0

    @staticmethod
    def _marked(body: Json) -> Json:
        output = body.get("output")
        items = [
            {**item, "id": _marked_id(item["id"])} if isinstance(item, dict) and "id" in item else item
            for item in (output if isinstance(output, list) else [])
        ]
        return {**body, "id": _marked_id(body.get("id")), "output": items}

    def _last(self, body: Json, status: str) -> list[Event]:
        self.over = True
        data = json_bytes(body)
        response = ending({"status": status, "usage": body.get("usage")}, f"response.{status}")
        return [RelayedLast(sequence_number=0, name=self._object.encode(), data=data, body=data, response=response)]


def _marked_id(value: Any) -> Any:
    return marked(value) if isinstance(value, str) else value
