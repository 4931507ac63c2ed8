"""One turn with a server that has the Responses API itself: passes on its events and supplies missing ones.

Theory of operation
-------------------
Every event is the upstream's own, unknown ones included, with three changes: its number, because keep-alive events
are added between; its ids and sealed content, which get a mark unless ids are to be kept; and the model's name, which
is the public one. Positions and ids that an event lacks are supplied (`positions.py`), and the ids of the response and
of each item are always those that were sent first. Calls that `tool_choice` does not allow are left out. Where a tool
was sent as a function, the events of its call become those of the client's tool (`bridged_calls.py`).

We write events of our own only where the upstream's are missing:

    before its first event     `created` and `in_progress` made from the request, if a keep-alive is due; the upstream's
                               are then left out, and its response keeps the fields that were sent
    no `in_progress`           that one
    while it is silent         an empty delta of what is growing, otherwise `in_progress` again
    it broke, was cut, fell    open messages and reasoning are closed as incomplete, calls are dropped;
    silent, or sent `error`    `response.failed`, made of the last response it sent
    a part was not begun       its beginning, before the part's first delta
    it closed nothing          what closes the part before its item is done, messages and reasoning before the last
                               event
    its first response has     the other fields, as the request has them
    no output
    its last response lacks    the items that were done
    items, or alone has some   the beginning and the end of these, if the answer is complete
    its status is not the name the worse of the two

The end of a call that may have been cut waits for the next event (`call_ends.py`): in an incomplete answer it is sent
as incomplete. The outcomes of open items at the end, and what Codex gets differently, are in the emitter's tables.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from ...emitter.for_codex import client_rules, refusals_as_text
from ...emitter.ledger import Ledger
from ...emitter.rules import CUT, Reason, StopReason
from ...protocol.events import Event, Relayed, RelayedItem
from ...protocol.ids import NewId
from ...protocol.problems import TOO_LONG_AN_ANSWER, Problem
from ...protocol.request.create_response import CreateResponse
from ...protocol.response import NOTHING_SENT, Identity, Sent
from ...protocol.warnings import ClientWarning
from .bridged_calls import BridgedCalls
from .call_ends import CallEnds
from .endings import LAST, REASONS, SECOND, UNREADABLE, agreed_status, final_items, reported
from .marks import Marks, original
from .positions import Positions
from .relay_options import RelayOptions
from .relayed_body import to_responses, tokens_of
from .relayed_events import RelayedEvents
from .relayed_items import MOST_UNFINISHED, TOO_MANY_UNFINISHED, OpenRelayedItem, RelayedItems
from .relayed_response import RelayedResponse
from .relayed_tool_choice import ToolChoiceFilter
from .repeated_delta import RepeatedDelta

Json = dict[str, Any]


class RelayTurn:
    """The request body for one turn, and the events for each event of the upstream. May raise `ProblemError`."""

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        request: CreateResponse,
        *,
        model: str,
        options: RelayOptions,
        identity: Identity,
        new_id: NewId,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        relayed = to_responses(request, model=model, options=options)
        self.warnings: Sequence[ClientWarning] = tuple(relayed.warnings)
        self.ask = relayed.body
        self.size = request.size
        self._tool_choice = ToolChoiceFilter(request.tool_choice, relayed.table)
        self._bridged = None if relayed.table is None else BridgedCalls(relayed.table, partial(new_id, "call"))
        self.table = relayed.table
        """The client's tools, if they become functions."""
        self.problem: Problem | None = None
        """Why the turn failed."""
        left_out = 0 if relayed.table is None else len(relayed.table.warnings)
        self.notes: dict[str, Any] = {"dropped_tools": left_out} if left_out else {}
        self._max_answer_bytes = options.server.max_answer_bytes
        self._now = now
        self._marks = Marks(options)
        self._response = RelayedResponse(request, identity, self._marks, removed=relayed.removed)
        self._response.echo(*(("tools", "tool_choice") if self._bridged is not None else ()))
        self._client_rules = client_rules(for_codex=for_codex)
        self._ledger: Ledger[OpenRelayedItem, Json, Json] = Ledger()
        self.next_number = self._ledger.next_number
        self._items = RelayedItems(self._ledger)
        self._relayed = RelayedEvents(self._ledger, self._items, self._marks, self._bridged)
        self._positions = Positions(lambda prefix: original(new_id(prefix)))
        self._call_ends = CallEnds(self._client_rules.endings)
        self._items_before = 0
        """Items that were sent before the upstream's first one."""
        self._delta: RepeatedDelta | None = None
        """The event that was received last, if it was a delta and was sent."""

    @property
    def late_warnings(self) -> list[ClientWarning]:
        """What was left out of the answer. Complete when the turn is over."""
        return self._tool_choice.warnings

    @property
    def over(self) -> bool:
        """Whether the last event was returned."""
        return self._ledger.phase == "over"

    @property
    def length(self) -> int:
        """Estimated tokens of the request body. Known until the answer begins."""
        return tokens_of(self.ask)

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:
        """No events: the first ones are the upstream's own, unless others were sent before."""
        self.ask = {}
        if sent.events:
            self._response.open(sent.usage)
            self._ledger.continue_after(sent.events)
        for index, item in enumerate(sent.items):
            self._ledger.finish(index, msgspec.to_builtins(item))
        self._items_before = len(sent.items)
        return []

    def receive(self, event: Json) -> list[Event]:
        """The events for one event of the upstream."""
        if self._delta is not None and self._delta.is_repeated_by(event):
            return self._repeat(self._delta, event)
        self._delta = None
        name = event.get("type")
        if not isinstance(name, str) or name == "error":
            return self.fail(UNREADABLE)
        delta = RepeatedDelta.of(event)
        if not self._client_rules.shows_refusals:
            name = refusals_as_text(name, event)
        if "response" in event:
            return self._lifecycle(name, event)
        events = self._missing_opening(name)
        if not self._positions.complete(name, event):
            events += self._relayed.of_items(self._call_ends.release())
            return [*events, self._relayed.event(name, event, Relayed)]
        if self._tool_choice.leaves_out(name, event):
            return events
        event["output_index"] += self._items_before
        events += self._relayed.of_items(self._call_ends.receive(name, event))
        is_bridged = self._bridged is not None and self._bridged.holds(event)
        if delta is not None and delta.name == name and not is_bridged:  # not a refusal that became text
            delta.record_sent(event, self._ledger.open.get(event["output_index"]))
            self._delta = delta
        return self._bounded(events)

    def keep_alive(self) -> list[Event]:
        """A keep-alive event."""
        if self._ledger.phase == "new":
            return self._begin()
        if empty_delta := self._ledger.empty_delta():
            return [self._relayed.event(empty_delta["type"], empty_delta, RelayedItem)]
        return [self._in_progress()]

    def end(self) -> list[Event]:
        """The last events, when the upstream closed its stream without one."""
        return self.fail(CUT)

    def fail(self, problem: Problem) -> list[Event]:
        """The last events of a response that fails because of this problem."""
        self._delta = None
        events = self._missing_opening("response.failed") + self._close_open_items("failure")
        self.problem = problem
        response = self._response.fail(problem, self._ledger.output)
        return [*events, self._relayed.last({"type": "response.failed", "response": response})]

    def stop(self, reason: StopReason) -> list[Event]:
        """The last events of a response that its client ends. Its usage is unknown."""
        self._delta = None
        events = self._missing_opening("response.incomplete") + self._relayed.of_items(self._call_ends.release())
        rule = self._client_rules.endings[reason]
        given_up = self._items.given_up(rule.items, self._response.sent.get("id"))
        events += [self._relayed.event(event["type"], event, RelayedItem) for event in given_up]
        events += self._close_open_items(reason)
        response = self._response.stop(msgspec.to_builtins(rule.incomplete_details), self._ledger.output)
        return [*events, self._relayed.last({"type": "response.incomplete", "response": response})]

    def _repeat(self, delta: RepeatedDelta, event: Json) -> list[Event]:
        """The events for a delta that `delta.is_repeated_by`: those of the long way, without its decisions."""
        event |= delta.sent
        if delta.part is not None:
            delta.part.add(event)
        sent = self._relayed.event(delta.name, event, RelayedItem)
        self._items.weigh(event, len(sent.data))
        return self._bounded([sent])

    def _bounded(self, events: list[Event]) -> list[Event]:
        """These events, and those of a failure if the answer is now too long to be kept, or too much of it is open."""
        if self._items.size > self._max_answer_bytes:
            return events + self.fail(TOO_LONG_AN_ANSWER)
        return events if self._items.unfinished <= MOST_UNFINISHED else events + self.fail(TOO_MANY_UNFINISHED)

    def _missing_opening(self, name: str) -> list[Event]:
        """The opening events that must come before this event and did not: clients rely on both."""
        if self._ledger.phase == "new":
            return [] if name == "response.created" else self._begin()
        return [self._in_progress()] if self._ledger.phase == "created" and name not in SECOND else []

    def _begin(self) -> list[Event]:
        """The first two events, where the upstream has not sent them."""
        created = {"type": "response.created", "response": self._response.open()}
        return [self._relayed.event("response.created", created, Relayed), self._in_progress()]

    def _in_progress(self) -> Event:
        self._ledger.phase = "talking"
        response = {**self._response.sent, "output": self._ledger.output}
        event = {"type": "response.in_progress", "response": response}
        return self._relayed.event("response.in_progress", event, Relayed)

    def _lifecycle(self, name: str, event: Json) -> list[Event]:
        """An event that carries the response."""
        response = event["response"]
        if not isinstance(response, dict):
            return self.fail(UNREADABLE)
        if name == "response.created" and self._ledger.phase != "new":
            return []  # `response.created` was sent before
        events = self._missing_opening(name)
        self._ledger.phase = "created" if name == "response.created" else "talking"
        if name in LAST:
            return events + self._end(name, event)
        event["response"] = self._response.update(response, self._output(response))
        return [*events, self._relayed.event(name, event, Relayed)]  # a keep-alive: nothing new of the answer

    def _end(self, name: str, event: Json) -> list[Event]:
        """The upstream's last event, and the events that are missing before it."""
        status = agreed_status(name, event["response"])
        reason = REASONS[status]
        events = self._late_items(event["response"].get("output")) if status == "completed" else []
        if self.over:
            return events
        events += self._relayed.of_items(self._call_ends.end(reason)) + self._close_open_items(reason)
        response = event["response"] = self._response.update(event["response"], self._output(event["response"]))
        response["status"], response["usage"] = status, self._response.usage(response.get("usage"))
        if self._response.is_supplied:  # with two clocks, it could end before it began
            response["completed_at"] = max(self._now(), response["created_at"]) if status == "completed" else None
        items = response["output"] = final_items(response["output"], self._ledger.output, status)
        self._tool_choice.end(status, items)
        if status == "failed":
            self.problem = reported(response.get("error"))
        elif problem := self._call_ends.failure(items):
            return events + self.fail(problem)
        event["type"] = self._client_rules.endings[reason].event_name
        return [*events, self._relayed.last(event)]

    def _late_items(self, output: Any) -> list[Event]:
        missing = self._positions.missing(output) if isinstance(output, list) else []
        return [sent for event in missing if not self.over for sent in self.receive(event)]

    def _close_open_items(self, reason: Reason) -> list[Event]:
        items = self._client_rules.endings[reason].items
        events = self._ledger.end(self._ledger.outcomes(items, lambda _, item: item.kind))
        return [self._relayed.event(event["type"], event, RelayedItem) for event in events]

    def _output(self, response: Json) -> list[Any]:
        """The output for the client: the upstream's, or the finished items if its response has none."""
        output = response.get("output")
        if not isinstance(output, list):
            return self._ledger.output
        items = self._tool_choice.final(self._positions.final(output))
        if self._bridged is not None:
            items = self._bridged.final(items)
        before = self._ledger.output[: self._items_before]
        return [*before, *(self._marks.item(item) for item in items)]
