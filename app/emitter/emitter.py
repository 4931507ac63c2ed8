"""Converts deltas to events. The ordering rules, and the theory behind them, are in `rules.py`.

A response is *new* until `begin`, then *talking* until exactly one last event was returned, then *over*. The final
response holds the same item objects as the `output_item.done` events.

Three things wait outside: white space that opens no item (`white_space.py`), provider state for the next reasoning item
(`open_reasoning.py`), and calls that are sent only when they are complete (`call_register.py`).
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from ..protocol import events as e
from ..protocol.ids import NewId
from ..protocol.problems import Problem
from ..protocol.response import NOTHING_SENT, Response, Sent, Usage
from . import deltas as d
from . import rules
from .call_register import CallRegister, RuledOut, ToolTable
from .emitted_items import EmittedItems
from .for_codex import client_rules
from .lifecycle_events import Lifecycle, used_together
from .open_items import OpenMessage
from .open_reasoning import OpenReasoning, ReasoningItems, Seal, StatePiece
from .white_space import WaitingSpace
from .whole_items import as_whole


class Emitter:
    """Makes the events of one response."""

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        response: Response,
        *,
        tools: ToolTable,
        new_id: NewId,
        now: Callable[[], int],
        raw_reasoning: bool = False,
        for_codex: bool = False,
        seal: Seal | None = None,
    ) -> None:
        self._client_rules = client_rules(for_codex=for_codex)
        self._ledger = EmittedItems(new_id)
        self.next_number = self._ledger.next_number
        """The number of the next event."""
        self._lifecycle = Lifecycle(response, next_number=self.next_number, now=now)
        self._calls = CallRegister(tools, new_id)
        self._reasoning = ReasoningItems(raw=raw_reasoning, seal=seal)
        self._space = WaitingSpace()
        self._current: OpenMessage | OpenReasoning | None = None
        """The open message or reasoning item: more text of its kind is added to it."""
        self._has_finished_message = False
        self._usage: Usage | None = None
        self._searches = 0
        self._used_before: Usage | None = None
        """The usage of an earlier ask of the same response."""
        self._stopped: d.Stopped | None = None
        self.late_citations = 0
        """How many citations came after their text was finished: for the log."""
        self.problem: Problem | None = None
        """Why the response failed."""

    @property
    def over(self) -> bool:
        """Whether the last event was returned."""
        return self._ledger.phase == "over"

    @property
    def usage(self) -> Usage | None:
        """The usage that the upstream reported last."""
        return self._usage

    @property
    def ruled_out(self) -> list[str]:
        """Names of the first calls the model made against the client's `tool_choice`: for the log."""
        return self._calls.ruled_out

    def begin(self, sent: Sent = NOTHING_SENT) -> list[e.Event]:
        """The first two events; no events if they were sent before, and the response then continues after them."""
        self._ledger.expect("new")
        self._ledger.continue_after(sent.events)
        self._used_before = sent.usage
        for item in sent.items:
            self._ledger.finish(self._ledger.next_index(), item)
        return [] if sent.events else self._lifecycle.begin()

    def hand_over(self) -> Sent:
        """What was sent, for another turn that continues the response. This emitter is over then."""
        self._ledger.phase = "over"
        usage = used_together(self._used_before, self._usage)
        return Sent(self._ledger.next_number(), tuple(self._ledger.output), usage)

    def feed(self, deltas: Iterable[d.Delta]) -> list[e.Event]:
        """The events for these deltas."""
        self._ledger.expect("talking")
        events: list[e.Event] = []
        for delta in deltas:
            events += self._take(delta)
            if self._ledger.phase == "over":
                break
        return events

    def keep_alive(self) -> list[e.Event]:
        """A keep-alive event that every known client accepts and does not show."""
        self._ledger.expect("talking")
        empty_delta = self._ledger.empty_delta()
        return [self._lifecycle.in_progress(self._ledger.output) if empty_delta is None else empty_delta]

    def end(self) -> list[e.Event]:
        """The last events, when the upstream's stream has ended. An answer without a reason for its end was cut."""
        self._ledger.expect("talking")
        return self.fail(rules.CUT) if self._stopped is None else self._end(self._stopped.reason)

    def fail(self, problem: Problem) -> list[e.Event]:
        """The last events of a response that fails because of this problem."""
        self._ledger.expect("talking")
        return self._end("failure", problem)

    def stop(self, reason: rules.StopReason, usage: Callable[[], Usage | None] = lambda: None) -> list[e.Event]:
        """The last events of a response that its client ends. `usage` is estimated as far as it was not reported."""
        self._ledger.expect("talking")
        self._usage = usage() or self._usage
        return self._end(reason)

    def _end(self, reason: rules.Reason, problem: Problem | None = None) -> list[e.Event]:
        rule = self._client_rules.endings[reason]
        whole_calls = frozenset(self._calls.whole(self._ledger.open))
        outcomes = self._ledger.outcomes_by(rule, self._current, whole_calls)
        for outcome in outcomes.values():
            if isinstance(outcome, Problem):
                return self._end("failure", outcome)
        events = self._lifecycle.given_up(self._ledger, outcomes) if rule.by_client else []
        events += self._ledger.end(outcomes)
        if rule.writes_state:
            events += self._write_state()
        self.problem = problem
        self._ledger.phase = "over"
        usage = used_together(self._used_before, self._usage)
        output, searches = self._ledger.output, self._searches
        last = self._lifecycle.last(rule, output=output, usage=usage, searches=searches, problem=problem)
        return [*events, last]

    def _take(self, delta: d.Delta) -> list[e.Event]:  # noqa: C901, PLR0911, PLR0912 — one case per delta, and the union is closed
        match delta:
            case d.TextDelta():
                return self._text(delta)
            case d.CallArguments():
                return self._arguments(delta)
            case d.ReasoningDelta():
                return self._reason(delta)
            case d.CallOpened():
                return self._open_call(delta)
            case d.RefusalTextDelta():
                return self._refuse(delta)
            case d.AnnotationAdded():
                return self._cite(delta)
            case d.ThoughtEnded():
                return self._make_room(delta)
            case d.ProviderStateAdded():
                return self._add_state(delta)
            case d.ImageWritten() | d.SearchMade() | d.ItemWritten():
                return self._make_room(delta) + self._ledger.add(*as_whole(delta))
            case d.UsageReported():
                self._usage, self._searches = delta.usage, delta.searches
                return []
            case d.Stopped():
                self._stopped = delta
                return []
            case d.Broke():
                return self.fail(delta.problem)
            case _:
                assert_never(delta)

    def _text(self, delta: d.TextDelta) -> list[e.Event]:
        if not delta.text:
            return []
        if isinstance(self._current, OpenMessage):
            return self._current.add_text(delta)
        self._space.add_text(delta)
        return self._write_space(delta) if delta.text.strip() else []

    def _write_space(self, delta: d.TextDelta | d.AnnotationAdded) -> list[e.Event]:
        """Adds the waiting text to a message."""
        if not (waiting := self._space.take_text()):
            return []
        events, message = self._message(delta)
        for text in waiting:
            events += message.add_text(text)
        return events

    def _refuse(self, delta: d.RefusalTextDelta) -> list[e.Event]:
        if not self._client_rules.shows_refusals:
            return self._text(d.TextDelta(delta.text))
        if not delta.text:
            return []
        events, message = self._message(delta)
        return [*events, *message.add_refusal(delta.text)]

    def _cite(self, delta: d.AnnotationAdded) -> list[e.Event]:
        """A citation of open or waiting text. One of finished text comes too late, and is dropped and counted."""
        waiting = self._space.text_length
        of_finished_text = not delta.is_of(waiting) or (not waiting and self._has_finished_message)
        if of_finished_text and not isinstance(self._current, OpenMessage):
            self.late_citations += 1
            return []
        events = self._write_space(delta)
        more, message = self._message(delta)
        cited = message.annotate(delta)
        if cited is None:
            self.late_citations += 1
        return [*events, *more, *(cited or ())]

    def _reason(self, delta: d.ReasoningDelta) -> list[e.Event]:
        if not delta.text:
            return []
        if isinstance(self._current, OpenReasoning):
            return self._current.add(delta.text)
        self._space.add_reasoning(delta.text)
        if not delta.text.strip():
            return []
        text = self._space.take_reasoning()
        events = self._make_room(delta)
        self._current = item = self._reasoning.open(self._ledger.position("rs"))
        return [*events, *self._ledger.begin(item), *item.add(text)]

    def _message(self, delta: d.Delta) -> tuple[list[e.Event], OpenMessage]:
        if isinstance(self._current, OpenMessage):
            return [], self._current
        events = self._make_room(delta)
        self._current = item = OpenMessage(self._ledger.position("msg"))
        return [*events, *self._ledger.begin(item)], item

    def _open_call(self, delta: d.CallOpened) -> list[e.Event]:
        if not self._calls.allows(delta):
            return []
        call_id = self._calls.new_call_id(delta)
        self._keep_state(StatePiece(delta.provider_state, call_id))
        events = self._make_room(delta)
        item = self._calls.open(delta, call_id, self._ledger.position(self._calls.item_prefix(delta)))
        return [*events, *self._ledger.begin(item)]

    def _arguments(self, delta: d.CallArguments) -> list[e.Event]:
        call = self._calls.find(delta.key)
        if not delta.text or isinstance(call, RuledOut):
            return []
        if call is not None and call.item.position.output_index in self._ledger.open:
            return self._calls.add(call.item, delta.text)
        if call is not None and not delta.text.strip():
            return []  # white space after a complete call adds nothing
        return self.fail(rules.CALL_NOT_OPEN)

    def _add_state(self, delta: d.ProviderStateAdded) -> list[e.Event]:
        if delta.key is None:
            self._keep_state(StatePiece(delta.fields))
        elif (call := self._calls.find(delta.key)) is not None and not isinstance(call, RuledOut):
            self._keep_state(StatePiece(delta.fields, call.id))
        return []

    def _keep_state(self, piece: StatePiece) -> None:
        self._reasoning.add_state(piece, self._current if isinstance(self._current, OpenReasoning) else None)

    def _write_state(self) -> list[e.Event]:
        """Sends the waiting provider state in an item of its own."""
        return self._ledger.add("rs", self._reasoning.state_only) if self._reasoning.has_state else []

    def _make_room(self, delta: d.Delta) -> list[e.Event]:
        """The events before the item that this delta opens."""
        kind = type(delta)
        events: list[e.Event] = []
        self._space.take_reasoning()
        if kind in rules.DISCARDS_SPACE:
            self._space.take_text()
        if rules.WHOLE_CALL in rules.CLOSES[kind]:
            for index in self._calls.whole(self._ledger.open):
                events += self._ledger.close(index, "completed")
        if self._current is not None and self._current.kind in rules.CLOSES[kind]:
            self._has_finished_message |= isinstance(self._current, OpenMessage)
            events += self._ledger.close(self._current.position.output_index, "completed")
            self._current = None
        if announced := self._calls.announce(self._ledger.open):
            self._ledger.unannounced.clear()  # only the last call can be among them
            events += announced
        return events + self._write_state() if kind in rules.STATE_COMES_FIRST else events
