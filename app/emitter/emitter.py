"""Deltas in, events out: the machine whose tables are in `rules.py`.

A response is talking until exactly one last event was returned, then over. The final response holds the same item
objects as the `output_item.done` events.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..types import events as e
from ..types.json import Json
from ..types.problems import Problem
from ..types.response import ItemStatus, Message, OutputItem, Usage, new_id
from . import deltas as d
from .items import (
    RAW,
    SUMMARY,
    OpenCall,
    OpenMessage,
    OpenReasoning,
    Position,
    Seal,
    StatePiece,
    image,
    search,
    state_only,
)
from .response import Lifecycle
from .rules import (
    CALL_NOT_OPEN,
    CLOSES,
    CUT,
    DISCARDS_SPACE,
    STATE_COMES_FIRST,
    Kind,
    Outcome,
    Reason,
)

if TYPE_CHECKING:
    from ..tools.table import Tools


class Emitter:
    """Makes the events of one response, behind its first two."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        tools: "Tools",
        *,
        raw_reasoning: bool = False,
        seal: Seal | None = None,
    ) -> None:
        """Without `seal`, provider state is dropped."""
        self._lifecycle = lifecycle
        self._seal = seal
        self._tools = tools
        self._form = RAW if raw_reasoning else SUMMARY
        self._open: dict[int, OpenMessage | OpenReasoning | OpenCall] = {}
        self._done: dict[int, OutputItem] = {}
        self._next = lifecycle.next_index
        self._current: OpenMessage | OpenReasoning | None = None
        """The open message or reasoning: more text of its kind is added to it."""
        self._space: list[d.TextDelta] = []
        """White space that opens no message: it waits for text."""
        self._blank_thought = ""
        """White space that opens no reasoning."""
        self._state: list[StatePiece] = []
        """Provider state that waits for a reasoning item."""
        self._calls: dict[int, OpenCall | None] = {}
        """By the key of the reader; None: the client does not allow it, so its arguments are dropped."""
        self._call_ids: dict[int, str] = {}
        self._unannounced: OpenCall | None = None
        """The newest call, if no event of it was sent yet."""
        self._stopped: Reason | None = None
        self.usage: Usage | None = None
        self.ruled_out: list[str] = []
        """Names of calls against the client's `tool_choice`: for a warning."""
        self.late_citations = 0
        """How many citations came after their text was finished: for a warning."""
        self.problem: Problem | None = None
        """Why the response failed."""
        self.over = False

    @property
    def output(self) -> list[OutputItem]:
        """The finished items, in the order of their positions."""
        return [self._done[index] for index in sorted(self._done)]

    @property
    def has_calls(self) -> bool:
        """Whether the model has made a call that the client allows."""
        return bool(self._call_ids)

    def feed(self, deltas: Iterable[d.Delta]) -> e.Events:
        """The events for these deltas."""
        events: e.Events = []
        for delta in deltas:
            match delta:
                case d.TextDelta():
                    events += self._text(delta)
                case d.ReasoningDelta():
                    events += self._reasoning(delta)
                case d.CallArguments():
                    events += self._arguments(delta)
                case d.CallOpened():
                    events += self._call(delta)
                case d.RefusalDelta():
                    # Codex shows nothing of a message with a refusal in it
                    events += self._text(d.TextDelta(delta.text)) if self._lifecycle.for_codex else self._refusal(delta)
                case d.AnnotationAdded():
                    events += self._cite(delta)
                case d.ProviderStateAdded():
                    self._add_state(delta)
                case d.ThoughtEnded():
                    events += self._make_room(delta)
                case d.ImageWritten():
                    events += self._make_room(delta)
                    events += self._finish(*image(self._position("ig"), delta))
                case d.SearchMade():
                    events += self._make_room(delta)
                    events += self._finish(*search(self._position("ws"), delta))
                case d.UsageReported():
                    self.usage = delta.usage
                case d.Stopped():
                    self._stopped = delta.reason
                case d.Broke():
                    events += self.fail(delta.problem)
                case _:
                    raise AssertionError(delta)
            if self.over:
                break
        return events

    def sign_of_life(self) -> e.Events:
        """An event that every known client accepts and does not show."""
        for item in reversed(self._open.values()):
            if (event := item.empty_delta()) is not None:
                return [event]
        return [self._lifecycle.in_progress(self.output)]

    def end(self) -> e.Events:
        """The last events, when the upstream's stream has ended. An answer without a reason for its end was cut."""
        return self.fail(CUT) if self._stopped is None else self.stop(self._stopped)

    def fail(self, problem: Problem) -> e.Events:
        """The last events of a response that fails because of this problem."""
        return self.stop("failure", problem)

    def stop(self, reason: Reason, problem: Problem | None = None) -> e.Events:
        """The last events of a response that ends for this reason."""
        ending = self._lifecycle.endings[reason]
        outcomes: dict[int, Outcome] = {index: ending.items[self._kind(index)] for index in sorted(self._open)}
        for outcome in outcomes.values():
            if isinstance(outcome, Problem):
                return self.stop("failure", outcome)
        events = self._given_up(outcomes) if ending.by_client else []
        for index, outcome in outcomes.items():
            if outcome == "completed" or outcome == "incomplete":
                events += self._close(index, outcome)
        self._open.clear()
        if ending.writes_state:
            events += self._write_state()
        self.problem, self.over = problem, True
        return [*events, self._lifecycle.last(ending, self.output, self.usage, problem)]

    def _text(self, delta: d.TextDelta) -> e.Events:
        if not delta.text:
            return []
        if isinstance(self._current, OpenMessage):
            return self._current.add_text(delta)
        self._space.append(delta)
        return self._message(delta)[0] if delta.text.strip() else []

    def _refusal(self, delta: d.RefusalDelta) -> e.Events:
        if not delta.text:
            return []
        events, message = self._message(delta)
        return [*events, *message.add_refusal(delta.text)]

    def _cite(self, delta: d.AnnotationAdded) -> e.Events:
        """A citation of text that is open or waits. One of finished text comes too late, and is dropped and counted."""
        if not isinstance(self._current, OpenMessage):
            waiting = sum(len(text.text) for text in self._space)
            first = not any(isinstance(item, Message) for item in self._done.values())
            if not delta.is_of(waiting) or not (waiting or first):
                self.late_citations += 1
                return []
        events, message = self._message(delta)
        cited = message.annotate(delta)
        self.late_citations += not cited
        return [*events, *cited]

    def _message(self, delta: d.Delta) -> tuple[e.Events, OpenMessage]:
        """The open message, or a new one with the text that waits."""
        if isinstance(self._current, OpenMessage):
            return [], self._current
        events = self._make_room(delta)
        self._current = message = OpenMessage(self._position("msg"))
        events += self._begin(message)
        waiting, self._space = self._space, []
        for text in waiting:
            events += message.add_text(text)
        return events, message

    def _reasoning(self, delta: d.ReasoningDelta) -> e.Events:
        if not delta.text:
            return []
        if isinstance(self._current, OpenReasoning):
            return self._current.add(delta.text)
        text = self._blank_thought = self._blank_thought + delta.text
        if not text.strip():
            return []
        events = self._make_room(delta)
        state, self._state = self._state, []
        self._current = reasoning = OpenReasoning(self._position("rs"), self._form, self._seal, state)
        return [*events, *self._begin(reasoning), *reasoning.add(text)]

    def _call(self, delta: d.CallOpened) -> e.Events:
        if not self._tools.allows(delta.name):
            self._calls[delta.key] = None
            self.ruled_out.append(delta.name)
            return []
        call_id = delta.call_id
        if not call_id or call_id in self._call_ids.values():
            call_id = new_id("call")
        self._call_ids[delta.key] = call_id
        self._keep(delta.provider_state, call_id)
        events = self._make_room(delta)
        self._calls[delta.key] = call = self._tools.open_call(delta.name, call_id, self._position)
        begun = self._begin(call)
        self._unannounced = None if begun else call
        return [*events, *begun]

    def _arguments(self, delta: d.CallArguments) -> e.Events:
        call = self._calls.get(delta.key)
        if call is None:
            return [] if delta.key in self._calls else self.fail(CALL_NOT_OPEN)
        index = call.position.output_index
        if index not in self._open:
            # white space behind a call that is complete: it is done, and gets nothing more
            return [] if not delta.text.strip() else self.fail(CALL_NOT_OPEN)
        return call.add(delta.text) if delta.text else []

    def _add_state(self, delta: d.ProviderStateAdded) -> None:
        if delta.key is None:
            self._keep(delta.fields)
        elif delta.key in self._call_ids:
            self._keep(delta.fields, self._call_ids[delta.key])

    def _keep(self, fields: Json, call_id: str | None = None) -> None:
        """Adds provider state to the open reasoning; if there is none, it waits for the next item of reasoning."""
        if self._seal is not None and fields:
            pieces = self._current.state if isinstance(self._current, OpenReasoning) else self._state
            pieces.append(StatePiece(fields, call_id))

    def _write_state(self) -> e.Events:
        """Sends the waiting provider state in an item of its own."""
        if self._seal is None or not self._state:
            return []
        state, self._state = self._state, []
        return self._finish(*state_only(self._position("rs"), self._seal("", state)))

    def _position(self, prefix: str) -> Position:
        self._next += 1
        return Position(new_id(prefix), self._next - 1, self._lifecycle.number)

    def _begin(self, item: OpenMessage | OpenReasoning | OpenCall) -> e.Events:
        self._open[item.position.output_index] = item
        return item.begin()

    def _make_room(self, delta: d.Delta) -> e.Events:
        """Closes the items that cannot stay open beside the one that this delta opens."""
        kind = type(delta)
        self._blank_thought = ""
        if kind in DISCARDS_SPACE:
            self._space = []
        indices = [index for index in sorted(self._open) if self._kind(index) in CLOSES[kind]]
        events = [event for index in indices for event in self._close(index, "completed")]
        call, self._unannounced = self._unannounced, None
        if call is not None and call.position.output_index in self._open:
            events += call.announce()
        return [*events, *self._write_state()] if kind in STATE_COMES_FIRST else events

    def _kind(self, index: int) -> Kind:
        item = self._open[index]
        if isinstance(item, OpenMessage):
            return Kind.MESSAGE
        if isinstance(item, OpenReasoning):
            return Kind.REASONING
        if item.is_whole:
            return Kind.WHOLE_CALL
        return Kind.NEWEST_CALL if index == self._next - 1 else Kind.EARLIER_CALL

    def _close(self, index: int, status: ItemStatus) -> e.Events:
        item = self._open.pop(index)
        if item is self._current:
            self._current = None
        done, events = item.close(status)
        if done is not None:
            self._done[index] = done
        return events

    def _finish(self, item: OutputItem, events: e.Events) -> e.Events:
        """Keeps an item that was begun and finished at once."""
        self._done[self._next - 1] = item
        return events

    def _given_up(self, outcomes: Mapping[int, Outcome]) -> e.Events:
        """The events of the items that the client has seen and that are dropped."""
        response_id = self._lifecycle.response.id
        dropped = [self._open[index] for index, outcome in outcomes.items() if outcome == "dropped"]
        seen = [item.position for item in dropped if item is not self._unannounced]
        return [position.within(e.OutputItemInterrupted, response_id=response_id) for position in seen]
