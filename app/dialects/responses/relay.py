"""One turn of a server that speaks Responses itself: its events are passed on, and its silence is not.

Theory of operation
-------------------
Every event is the upstream's own, unknown ones included, with three things changed: the number, because we add signs
of life between them; the ids and what is sealed, which get a mark unless ids are to be kept; the model's name, which
is the public one. Where the event belongs is supplied if it does not say so (`positions.py`), and the ids of one
response and of each item are always those that were told first. Calls that `tool_choice` does not allow are left out.

We speak in the upstream's stead only where it does not:

    before its first word      `created` and `in_progress` made of the request, if the client must have a sign of life;
                               its own beginning is then left out, and its response keeps the face that we gave it
    it forgot `in_progress`    that one
    while it is silent         an empty delta of what is growing, otherwise `in_progress` again
    it broke, was cut, fell    what prose it opened is closed as incomplete, calls are forgotten; `response.failed`,
    silent, or said `error`    made of the last response it sent
    it did not begin a part    that beginning, before the part's first delta
    it closed nothing          what closes the part before its item is done, and prose before the last event
    its first response has     the other fields, as the request has them
    no output
    its last response lacks    the items that were done
    items
    its last event's name      the worse of both
    and status differ

The end of a call that may have been cut waits for the event behind it (`call_ends.py`): in an incomplete answer it is
told as incomplete. For Codex, which would run half a script, the relay fails then; it tells refusals as text, too.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from app.dialects.responses.call_ends import CallEnds, Named
from app.dialects.responses.endings import (
    LAST,
    MOVING,
    SECOND,
    UNREADABLE,
    agreed_status,
    counted,
    ending,
    final_items,
    is_cut_call,
    reported,
    whole_seconds,
)
from app.dialects.responses.marked_ids import original
from app.dialects.responses.marks import Marks
from app.dialects.responses.positions import Positions
from app.dialects.responses.relay_options import RelayOptions
from app.dialects.responses.relayed_body import to_responses
from app.dialects.responses.relayed_items import OpenItems
from app.dialects.responses.relayed_tool_choice import ToolChoiceFilter
from app.emitter.for_codex import refusals_as_text
from app.emitter.rules import CUT, CUT_IN_A_CALL
from app.json_text import json_bytes
from app.protocol.echo import opening_response
from app.protocol.events import Event, Relayed, RelayedItem, RelayedLast
from app.protocol.ids import Mint
from app.protocol.problems import TOO_LONG_AN_ANSWER, Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from app.protocol.warnings import ClientWarning

Json = dict[str, Any]

READ: Final = ("instructions", "input", "tools")
"""What of an ask the model reads."""
CHARACTERS_PER_TOKEN: Final = 4
"""A rough mean over languages and code, for upstreams that do not count what they are asked."""


class RelayTurn:
    """What to ask, and what to pass on of the answer. Refuses (`ProblemError`) what no upstream should be asked."""

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        request: CreateResponse,
        *,
        model: str,
        options: RelayOptions,
        identity: Identity,
        mint: Mint,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        relayed = to_responses(request, model=model, options=options)
        self.warnings = tuple(relayed.warnings)
        self.ask = relayed.body
        self._tool_choice = ToolChoiceFilter(request.tool_choice)
        self.problem: Problem | None = None
        """Why it failed."""
        self.notes: dict[str, Any] = {}
        self._model = request.model
        self._request: CreateResponse | None = request
        """Until the beginning of the answer, which may have to be made of it."""
        self._previous = request.previous_response_id
        self._marks = Marks(options)
        self._most = options.max_answer_bytes
        self._identity = identity
        self._now = now
        self._for_codex = for_codex
        self._phase: Literal["new", "talking", "over"] = "new"
        self._number = 0
        self._response: Json = {}
        """The last one that was told."""
        self._ours: Json = {}
        """What never changes of a response that we began."""
        self._supplied: Json = {}
        """What the upstream's responses leave out: llama.cpp's first has three fields, and clients read more."""
        self._items = OpenItems()
        self._positions = Positions(lambda prefix: original(mint(prefix)))
        self._call_ends = CallEnds(for_codex=for_codex)

    @property
    def late_warnings(self) -> list[ClientWarning]:
        """What was left out of the answer. Complete when the turn is over."""
        return self._tool_choice.warnings

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        return self._phase == "over"

    @property
    def length(self) -> int:
        """How many tokens the ask has, roughly. It is known until the answer begins."""
        return len(json_bytes({key: self.ask[key] for key in READ if key in self.ask})) // CHARACTERS_PER_TOKEN + 1

    def begin(self, sent: int = 0) -> list[Event]:
        """No events: the first ones are the upstream's own, unless `sent` events of ours have been sent already."""
        self.ask = {}
        if sent:
            self._begin()
            self._number = sent
        return []

    def receive(self, event: Json) -> list[Event]:
        """What the client is told of one event."""
        name = event.get("type")
        if not isinstance(name, str) or name == "error":
            return self.fail(UNREADABLE)
        if self._for_codex:
            name = refusals_as_text(name, event)
        if "response" in event:
            return self._lifecycle(name, event)
        events = self._first_words(name)
        if not self._positions.complete(name, event):
            return [*events, *self._send(self._call_ends.release()), self._relayed(name, event, Relayed)]
        if self._tool_choice.leaves_out(name, event):
            return events
        events += self._send(self._call_ends.receive(name, event))
        return events if self._items.held <= self._most else events + self.fail(TOO_LONG_AN_ANSWER)

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        if self._phase == "new":
            return self._begin()
        if empty_delta := self._items.empty_delta():
            return [self._relayed(empty_delta["type"], empty_delta, RelayedItem)]
        return [self._in_progress()]

    next_size = 0

    def go_on(self) -> None:
        """There is one ask, and no other."""

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        return self.fail(CUT)

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        events = self._first_words("response.failed") + self._close_prose("incomplete")
        self.problem = problem
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
        response = opening_response(self._request, id=self._identity.id, created_at=self._identity.created_at)
        self._response = self._supplied = msgspec.to_builtins(response)
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
        self._response = event["response"] = self._told(response)
        self._phase, self._request = "talking", None
        if name in LAST:
            return events + self._end(name, event)
        return [*events, self._relayed(name, event, Relayed)]  # a sign of life: no more of the answer

    def _end(self, name: str, event: Json) -> list[Event]:
        """The upstream's last event, and what it should have said before."""
        response = self._response
        status = response["status"] = agreed_status(name, response)
        response["usage"] = counted(response.get("usage"))
        name = event["type"] = f"response.{status}"
        if self._supplied:  # two clocks in one response might say that it ended before it began
            response["completed_at"] = max(self._now(), response["created_at"]) if status == "completed" else None
        events = self._send(self._call_ends.end(status))
        events += self._close_prose("completed" if status == "completed" else "incomplete")
        items = response["output"] = final_items(response["output"], self._items.done, status)
        self._tool_choice.end(status, items)
        if self._for_codex and status != "failed" and (self._call_ends.cut_for_codex or any(map(is_cut_call, items))):
            return events + self.fail(CUT_IN_A_CALL)
        if status == "failed":
            self.problem = reported(response.get("error"))
        return [*events, self._last(name, event)]

    def _send(self, named: list[Named]) -> list[Event]:
        return [told for name, event in named for told in self._about_item(name, event)]

    def _close_prose(self, status: str) -> list[Event]:
        return [self._relayed(event["type"], event, RelayedItem) for event in self._items.close(status)]

    def _told(self, response: Json) -> Json:
        output = response.get("output")
        if self._request is not None and not isinstance(output, list):
            supplied = opening_response(self._request, id="", created_at=0)
            self._supplied = {**msgspec.to_builtins(supplied), "created_at": None}
        told = {**self._supplied, **response, "model": self._model, "id": self._id_of(response)}
        if self._previous is not None:  # the upstream was asked as if nothing had been before
            told["previous_response_id"] = self._previous
        told["output"] = self._items.done
        if isinstance(output, list):
            output = self._tool_choice.final(self._positions.final(output))
            told["output"] = [self._marks.item(item) for item in output]
        told["created_at"] = whole_seconds(
            told.get("created_at"), self._response.get("created_at") or self._identity.created_at
        )
        return told | self._ours

    def _id_of(self, response: Json) -> str:
        """That which was told first: clients refuse a response that changes its id."""
        if "id" in self._response:
            return str(self._response["id"])
        given = response.get("id")
        if not isinstance(given, str) or not given:
            return self._identity.id
        return self._marks.id(given)

    def _about_item(self, name: str, event: Json) -> list[Event]:
        self._marks.event(event)
        missing = self._items.missing(name, event)
        for supplied in missing:
            self._items.see(supplied["type"], supplied)
        self._items.see(name, event)
        told = [self._relayed(each["type"], each, RelayedItem) for each in (*missing, event)]
        self._items.weigh(event, len(told[-1].data))
        return list(told)

    def _last(self, name: str, event: Json) -> Event:
        self._phase = "over"
        if self._for_codex and name == "response.incomplete":
            name = event["type"] = "response.completed"  # it throws an incomplete answer away
        told = self._relayed(name, event, Relayed)
        return RelayedLast(
            sequence_number=told.sequence_number,
            name=told.name,
            data=told.data,
            body=json_bytes(event["response"]),
            response=ending(event["response"], name),
        )

    def _relayed(self, name: str, event: Json, kind: type[Relayed]) -> Relayed:
        number, self._number = self._number, self._number + 1
        event["sequence_number"] = number
        return kind(sequence_number=number, name=name.encode(), data=json_bytes(event))
