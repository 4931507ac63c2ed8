"""One turn of a server that speaks Responses itself: its events are passed on, and its silence is not.

Theory of operation
-------------------
Every event is the upstream's own, unknown ones included, with three things changed: the number, because we add signs
of life between them; the ids and what is sealed, which get a mark unless ids are to be kept; the model's name, which
is the public one.

We speak in the upstream's stead only where it does not:

    before its first word      `created` and `in_progress` made of the request, if the client must have a sign of life;
                               its own beginning is then left out, and its response keeps the face that we gave it
    it forgot `in_progress`    that one
    while it is silent         an empty delta of what is growing, otherwise `in_progress` again
    it broke, was cut, fell    what prose it opened is closed as incomplete, calls are forgotten; `response.failed`,
    silent, or said `error`    made of the last response it sent
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from app.dialects.responses.ask import to_responses
from app.dialects.responses.ids import marked
from app.dialects.responses.open_items import OpenItems
from app.dialects.responses.options import RelayOptions
from app.dialects.responses.seals import marked_seal, tag_of
from app.protocol.echo import opening_response
from app.protocol.events import Ending, Event, Relayed, RelayedItem, RelayedLast
from app.protocol.ids import Mint
from app.protocol.json_bytes import json_bytes
from app.protocol.problems import ANSWERS, Problem
from app.protocol.request import CreateResponse

Json = dict[str, Any]

LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage"}
"""What may differ between the responses of one stream."""
READ: Final = ("instructions", "input", "tools")
"""What of an ask the model reads."""
CHARACTERS_PER_TOKEN: Final = 4
"""A rough mean over languages and code, for upstreams that do not count what they are asked."""
SECOND: Final = {"response.in_progress", "response.queued"}
UNREADABLE: Final = Problem(
    code="upstream_error", message="The model's server sent something that is no event of a response."
)
CUT: Final = Problem(
    code="upstream_error", message="The model's server ended its answer without saying why: it was cut off."
)


class RelayTurn:
    """What to ask, and what to pass on of the answer. Refuses (`ProblemError`) what no upstream should be asked."""

    def __init__(
        self,
        request: CreateResponse,
        *,
        model: str,
        options: RelayOptions,
        mint: Mint,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        self.warnings: list[str] = []
        self.ask = to_responses(request, model=model, options=options, warnings=self.warnings)
        self.late_warnings: list[str] = []
        self.problem: Problem | None = None
        """Why it failed."""
        self.notes: dict[str, Any] = {}
        self._model = request.model
        self._request: CreateResponse | None = request
        """Until the beginning of the answer, which may have to be made of it."""
        self._previous = request.previous_response_id
        self._marks = options.ids == "am"
        self._tag = tag_of(options.origin)
        self._mint = mint
        self._now = now
        self._for_codex = for_codex
        self._phase: Literal["new", "talking", "over"] = "new"
        self._number = 0
        self._response: Json = {}
        """The last one that was told."""
        self._ours: Json = {}
        """What never changes of a response that we began."""
        self._items = OpenItems()

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        return self._phase == "over"

    @property
    def length(self) -> int:
        """How many tokens the ask has, roughly. It is known until the answer begins."""
        read = {key: self.ask[key] for key in READ if key in self.ask}
        return len(json_bytes(read)) // CHARACTERS_PER_TOKEN + 1

    def begin(self) -> list[Event]:
        """Nothing: the first events are the upstream's own, unless it keeps the client waiting. It was asked."""
        self.ask = {}
        return []

    def receive(self, event: Json) -> list[Event]:
        """What the client is told of one event."""
        name = event.get("type")
        if not isinstance(name, str) or name == "error":
            return self.fail(UNREADABLE)
        if "response" in event:
            return self._lifecycle(name, event)
        events = self._first_words(name)
        if type(event.get("output_index")) is int:
            self._about_item(name, event)
            if self._for_codex and name == "response.output_item.done" and _is_a_cut_call(event.get("item")):
                return events  # it would run half of it
            return [*events, self._relayed(name, event, RelayedItem)]
        return [*events, self._relayed(name, event, Relayed)]

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        if self._phase == "new":
            return self._begin()
        if nudge := self._items.nudge():
            return [self._relayed(nudge["type"], nudge, RelayedItem)]
        return [self._in_progress()]

    def go_on(self) -> None:
        """There is one ask, and no other."""

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        return self.fail(CUT)

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        events = self._first_words("response.failed")
        self.problem = problem
        for event in self._items.close():
            events.append(self._relayed(event["type"], event, RelayedItem))
        error = {"code": problem.answer.failed_code, "message": problem.failed_message}
        outcome = {"status": "failed", "completed_at": None, "error": error, "incomplete_details": None}
        self._response = {**self._response, **outcome, "output": self._items.done}
        return [*events, self._last("response.failed", {"type": "response.failed", "response": self._response})]

    def _first_words(self, name: str) -> list[Event]:
        """What must be said before this event and was not. Clients are sure of two beginnings."""
        if self._phase == "new":
            return [] if name == "response.created" else self._begin()
        return [self._in_progress()] if self._number == 1 and name not in SECOND else []

    def _begin(self) -> list[Event]:
        """The first two events, in the upstream's stead."""
        assert self._request is not None  # noqa: S101 — our own misuse: there is one beginning
        response = opening_response(self._request, id=self._mint("resp"), created_at=self._now())
        self._response = msgspec.to_builtins(response)
        self._ours = {key: value for key, value in self._response.items() if key not in MOVING}
        self._phase, self._request = "talking", None
        created = {"type": "response.created", "response": self._response}
        return [self._relayed("response.created", created, Relayed), self._in_progress()]

    def _in_progress(self) -> Event:
        told = {**self._response, "output": self._items.done}
        return self._relayed("response.in_progress", {"type": "response.in_progress", "response": told}, Relayed)

    def _lifecycle(self, name: str, event: Json) -> list[Event]:
        response = event["response"]
        if not isinstance(response, dict):
            return self.fail(UNREADABLE)
        if name == "response.created" and self._phase != "new":
            return []  # said already
        events = self._first_words(name)
        self._phase, self._request = "talking", None
        self._response = event["response"] = self._told(response)
        if name not in LAST:
            return [*events, self._relayed(name, event, Relayed)]
        if name == "response.failed":
            self.problem = reported(self._response.get("error"))
        return [*events, self._last(name, event)]

    def _told(self, response: Json) -> Json:
        told = {**response, "model": self._model}
        if self._previous is not None:  # the upstream was asked as if nothing had been before
            told["previous_response_id"] = self._previous
        if self._marks:
            told["id"] = _marked(response.get("id"))
            output = response.get("output")
            if isinstance(output, list):
                told["output"] = [_marked_item(item, self._tag) for item in output]
        if self._ours and told.get("completed_at") is not None:
            told["completed_at"] = self._now()  # two clocks in one response might say that it ended before it began
        return told | self._ours

    def _about_item(self, name: str, event: Json) -> None:
        if self._marks:
            if "item_id" in event:
                event["item_id"] = _marked(event["item_id"])
            if "item" in event:
                event["item"] = _marked_item(event["item"], self._tag)
        self._items.see(name, event)

    def _last(self, name: str, event: Json) -> Event:
        self._phase = "over"
        if self._for_codex and name == "response.incomplete":
            name = event["type"] = "response.completed"  # it throws an incomplete answer away
        number, self._number = self._number, self._number + 1
        event["sequence_number"] = number
        return RelayedLast(
            sequence_number=number,
            name=name.encode(),
            data=json_bytes(event),
            body=json_bytes(event["response"]),
            response=ending(event["response"], name),
        )

    def _relayed(self, name: str, event: Json, kind: type[Relayed]) -> Event:
        number, self._number = self._number, self._number + 1
        event["sequence_number"] = number
        return kind(sequence_number=number, name=name.encode(), data=json_bytes(event))


def _marked(foreign: Any) -> Any:
    return marked(foreign) if isinstance(foreign, str) else foreign


def _marked_item(item: Any, tag: str) -> Any:
    if not isinstance(item, dict):
        return item
    told = {**item, "id": _marked(item["id"])} if "id" in item else item
    sealed = item.get("encrypted_content")
    if item.get("type") == "reasoning" and isinstance(sealed, str) and sealed:
        return {**told, "encrypted_content": marked_seal(sealed, tag)}
    return told


def _is_a_cut_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("status") == "incomplete" and str(item.get("type")).endswith("_call")


def reported(error: Any) -> Problem:
    """Why the upstream says it failed. Its message has been cleaned where it came in."""
    fields = error if isinstance(error, dict) else {}
    code = str(fields.get("code"))
    message = str(fields.get("message") or "The model's server reported an error while it answered.")
    wait = 5 if code == "rate_limit_exceeded" else None
    return Problem(code=code if code in ANSWERS else "upstream_error", message=message, retry_after=wait)


def ending(response: Json, name: str) -> Ending:
    """What the log says of the end, as far as it is told in the usual form."""
    try:
        return msgspec.convert(response, Ending)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for half of a character
        return Ending(status=name.removeprefix("response."))
