"""The response inside a relayed answer's events: the upstream's own, with the fields that are ours."""

from typing import Any

import msgspec

from app.dialects.responses.endings import MOVING, whole_seconds
from app.dialects.responses.marks import Marks
from app.emitter.opening_response import opening_response
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity

Json = dict[str, Any]


class RelayedResponse:
    """The response as it was sent last. Its id and its model never change: clients rely on that."""

    def __init__(self, request: CreateResponse, identity: Identity, marks: Marks) -> None:
        self.sent: Json = {}
        """Empty until the first event."""
        self._request: CreateResponse | None = request
        """Until the first event, which may have to be made of it."""
        self._model = request.model
        self._previous = request.previous_response_id
        self._identity = identity
        self._marks = marks
        self._supplied: Json = {}
        """What the upstream's responses leave out: llama.cpp's first has three fields, and clients read more."""
        self._fixed: Json = {}
        """The fields that never change of a response that was made of the request."""

    @property
    def is_supplied(self) -> bool:
        """Whether fields of it are not the upstream's."""
        return bool(self._supplied)

    def open(self) -> Json:
        """The response, made of the request. The upstream's own then has the same fields."""
        assert self._request is not None  # noqa: S101 — our own misuse: there is one beginning
        response = opening_response(self._request, id=self._identity.id, created_at=self._identity.created_at)
        self.sent = self._supplied = msgspec.to_builtins(response)
        self._fixed = {key: value for key, value in self.sent.items() if key not in MOVING}
        self._request = None
        return self.sent

    def update(self, response: Json, output: list[Any]) -> Json:
        """The upstream's response as the client gets it, with this output."""
        if self._request is not None and not isinstance(response.get("output"), list):
            supplied = opening_response(self._request, id="", created_at=0)
            self._supplied = {**msgspec.to_builtins(supplied), "created_at": None}
        self._request = None
        sent = {**self._supplied, **response, "model": self._model, "id": self._id_of(response), "output": output}
        if self._previous is not None:  # the upstream was asked as if nothing had been before
            sent["previous_response_id"] = self._previous
        before = self.sent.get("created_at") or self._identity.created_at
        sent["created_at"] = whole_seconds(sent.get("created_at"), before)
        self.sent = sent | self._fixed
        return self.sent

    def fail(self, problem: Problem, output: list[Any]) -> Json:
        """The response that was sent last, failed."""
        error = {"code": problem.shape.failed_code, "message": problem.failed_message}
        outcome = {"status": "failed", "completed_at": None, "error": error, "incomplete_details": None}
        self.sent = {**self.sent, **outcome, "output": output}
        return self.sent

    def _id_of(self, response: Json) -> str:
        """The id that was sent first: clients refuse a response that changes its id."""
        if "id" in self.sent:
            return str(self.sent["id"])
        given = response.get("id")
        if not isinstance(given, str) or not given:
            return self._identity.id
        return self._marks.id(given)
