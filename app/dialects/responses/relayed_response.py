"""Keeps the response object of a relayed answer: the upstream's own, with some fields changed or supplied."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ...emitter.lifecycle_events import reported_error, used_together
from ...emitter.opening_response import opening_response
from ...protocol.problems import Problem
from ...protocol.request.create_response import CreateResponse
from ...protocol.response import Identity, InputTransformation, Usage
from .endings import MOVING, counted, read_usage, whole_seconds
from .marks import Marks

Json = dict[str, Any]


REMOVED: Final = "input_transformations"


class RelayedResponse:
    """The response as it was sent last. Its id and model never change: clients rely on that."""

    def __init__(
        self,
        request: CreateResponse,
        identity: Identity,
        marks: Marks,
        *,
        removed: Sequence[InputTransformation] = (),
    ) -> None:
        """`removed`: items of the input that the upstream was not sent."""
        self._removed: list[Json] = msgspec.to_builtins(list(removed))
        self.sent: Json = {}
        """Empty until the first event."""
        self._request: CreateResponse | None = request
        """Kept until the first event, which may have to be made from it."""
        self._model = request.model
        self._previous = request.previous_response_id
        self._identity = identity
        self._marks = marks
        self._supplied: Json = {}
        """Fields that the upstream's responses leave out: llama.cpp sends three at first, and clients read more."""
        self._fixed: Json = {}
        """The fields that never change, where the first response was made from the request."""
        self._echoed: Json = {}
        """Fields as the client posted them, where the upstream got others."""
        self._used_before: Usage | None = None

    @property
    def is_supplied(self) -> bool:
        """Whether some fields are not the upstream's."""
        return bool(self._supplied)

    def echo(self, *names: str) -> None:
        """Repeats these fields of the client's request in every response."""
        assert self._request is not None  # noqa: S101 — our own misuse: nothing was sent yet
        if names:
            opening = msgspec.to_builtins(opening_response(self._request, id="", created_at=0))
            self._echoed = {name: opening[name] for name in names}

    def open(self, used: Usage | None = None) -> Json:
        """Makes the first response from the request. The upstream's own then gets the same fields.

        `used`: by what the upstream was asked before, for the same response.
        """
        self._used_before = used
        assert self._request is not None  # noqa: S101 — our own misuse: a response is opened once
        response = opening_response(self._request, id=self._identity.id, created_at=self._identity.created_at)
        self.sent = self._supplied = msgspec.to_builtins(response) | ({REMOVED: self._removed} if self._removed else {})
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
        if self._previous is not None:  # the upstream got the whole conversation without this field
            sent["previous_response_id"] = self._previous
        others = response.get(REMOVED)
        if self._removed or isinstance(others, list):
            theirs = map(self._marks.removed, others) if isinstance(others, list) else ()
            sent[REMOVED] = [*self._removed, *theirs]
        before = self.sent.get("created_at") or self._identity.created_at
        sent["created_at"] = whole_seconds(sent.get("created_at"), before)
        self.sent = sent | self._echoed | self._fixed
        return self.sent

    def usage(self, reported: Any) -> Any:
        """The usage of all asks for this response; None if it is not known."""
        usage = counted(reported)
        if self._used_before is None:
            return usage
        together = msgspec.to_builtins(used_together(self._used_before, read_usage(usage)))
        return {**usage, **together} if isinstance(usage, dict) else together

    def fail(self, problem: Problem, output: list[Any]) -> Json:
        """The response that was sent last, with the status `failed`."""
        error = msgspec.to_builtins(reported_error(problem))
        outcome = {"status": "failed", "completed_at": None, "error": error, "incomplete_details": None}
        self.sent = {**self.sent, **outcome, "output": output, **self._usage_before}
        return self.sent

    def stop(self, details: Json, output: list[Any]) -> Json:
        """The response that was sent last, with the status `incomplete`, with these details."""
        outcome = {
            "status": "incomplete",
            "completed_at": None,
            "error": None,
            "incomplete_details": details,
        }
        self.sent = {**self.sent, **outcome, "output": output, **self._usage_before}
        return self.sent

    @property
    def _usage_before(self) -> Json:
        """The usage of a response whose own is not known."""
        return {} if self._used_before is None else {"usage": msgspec.to_builtins(self._used_before)}

    def _id_of(self, response: Json) -> str:
        """The id that was sent first: clients refuse a response that changes its id."""
        if "id" in self.sent:
            return str(self.sent["id"])
        upstream_id = response.get("id")
        if not isinstance(upstream_id, str) or not upstream_id:
            return self._identity.id
        return self._marks.id(upstream_id)
