"""Deltas in, events out. All ordering rules of a response live in this file.

Theory of operation
-------------------
A response is *new* until `begin`, then *talking* until exactly one last event has been given, then *over*.

While it talks, every item has taken a **seat**, in the order the model began them, and is in one of two places:

    open       `_prose`, the message or reasoning item, at most one; `_calls`, tool calls by seat
    finished   `_finished`, by seat: frozen, told by `output_item.done`, part of the final response

It moves once, by `_close`; the final response is made of the very objects in `_finished`, in seat order.

What closes what, when the model says something new:

    it says…       a message      a reasoning item   a call whose arguments       any other call
                                                     are a whole JSON object
    text/refusal   (grows)        closed             closed                       stays open
    reasoning      closed         (grows)            closed                       stays open
    a new call     closed         closed             closed                       stays open
    an image,      closed         closed             closed                       stays open
    a compaction

So prose is never open beside prose, and text before a call is closed before the call opens. Calls may be open side
by side, because upstreams interleave their arguments; a call that is whole is closed early, because clients run it
as soon as they see it. A call that the client ruled out is as good as never said. An image comes whole, and so does
what is left of a conversation that was summed up: it is finished as soon as it is begun.

Some calls are told only when they are whole, because the wire cannot let their items grow. They have their seat all
the same: what stays open is announced before anything else opens, for clients count items as they are added.

How it ends:

    the upstream said…        open prose    open calls                                      last event
    end                       completed     completed                                       completed
    length, content_filter    see below     see below                                       incomplete
    nothing (it was cut)      incomplete    forgotten: no `done`, not in the output         failed
    an error                  incomplete    forgotten                                       failed

Of a call that was never announced nothing is left when it is incomplete.

At a limit only what the model was writing last can be incomplete: the open item in the last seat (unless it is a
whole call, which is completed). If a call in an earlier seat is not whole either, nobody can tell what was cut, and
the response fails.

One client, Codex, throws an answer away when it reads `response.incomplete`, and shows nothing of a message with a
`refusal` part. Told that it talks to Codex, the emitter ends with `response.completed` instead, the response inside
saying `incomplete` all the same, tells a refusal as text, and fails where a limit cut a call: Codex reads no status
and would run half a script.

What the upstream wants back (`ProviderStateAdded`) is sealed into a reasoning item, if the client carries any. The
open one takes it; where none is open it waits, goes into the next, and gets one of its own, without words,
before anything else opens and at the end. So it stands before its call, and never parts a text in two. An answer
that was cut keeps nothing that
still waits.

Text or thought that is only white space opens nothing: it is held back until more of its kind (or a citation of the
text) follows, and forgotten when something else comes first.
"""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, Final, Literal, Protocol, assert_never

from msgspec.structs import replace

from app.emitter import deltas as d
from app.emitter.open_image import OpenImage
from app.emitter.open_items import ItemPosition, OpenCall, OpenItem, OpenMessage
from app.emitter.open_reasoning import Carried, OpenRawReasoning, OpenSummary, Seal, StatePiece, unspoken
from app.emitter.unsettled import HeldText, WholeCalls, remember_name
from app.protocol import events as e
from app.protocol.ids import Mint
from app.protocol.output_items import Compaction, ItemStatus, OutputItem
from app.protocol.problems import Problem
from app.protocol.response import IncompleteDetails, Response, ResponseError, Usage

CUT: Final = Problem(
    code="upstream_error", message="The model's server ended its answer without saying why: it was cut off."
)
CUT_IN_SEVERAL_CALLS: Final = Problem(
    code="upstream_error", message="The model's server stopped at a limit in the middle of several tool calls."
)
CUT_IN_A_CALL: Final = Problem(
    code="invalid_prompt",
    message="The model reached a limit in the middle of a tool call. Ask for smaller steps, or raise its limit.",
)
CALL_NOT_OPEN: Final = Problem(
    code="upstream_error", message="The model's server sent arguments for a tool call that is not open."
)


class Carriers(Protocol):
    """What the emitter must know of tools: which may be called, and what a call of one looks like."""

    def allows(self, name: str) -> bool:
        """Whether the client permits this call in this turn."""
        ...

    def item_prefix(self, name: str) -> str:
        """The id prefix of such a call."""
        ...

    def open_call(self, name: str, call_id: str, position: ItemPosition) -> OpenCall:
        """The open item for such a call."""
        ...


class MisuseError(RuntimeError):
    """The emitter was driven in an order it does not allow. Our fault, never the wire's."""


class Emitter:
    """One response in the making."""

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        response: Response,
        *,
        carriers: Carriers,
        mint: Mint,
        now: Callable[[], int],
        raw_reasoning: bool = False,
        for_codex: bool = False,
        seal: Seal | None = None,
    ) -> None:
        self._response = response
        self._carriers = carriers
        self._mint = mint
        self._now = now
        self._reasoning = OpenRawReasoning if raw_reasoning else OpenSummary
        self._for_codex = for_codex
        self._seal = seal
        self._number = count().__next__
        self._seat = count().__next__
        self._phase: Literal["new", "talking", "over"] = "new"
        self._prose: OpenMessage | OpenSummary | OpenRawReasoning | None = None
        self._calls: dict[int, OpenCall] = {}
        self._finished: dict[int, OutputItem] = {}
        self._seat_of_key: dict[int, int | None] = {}
        """The seat of each call by its key; None for a call the client ruled out, whose words go nowhere."""
        self._id_of_key: dict[int, str] = {}
        """The call id of each call that was not ruled out, by its key."""
        self._call_ids: set[str] = set()
        self._kept: list[StatePiece] = []
        """What waits for a reasoning item to carry it."""
        self._held = HeldText()
        self._held_thought: list[str] = []
        self._whole_calls = WholeCalls()
        self._has_spoken = False
        self._usage: Usage | None = None
        self._stopped: d.Stopped | None = None
        self.ruled_out: list[str] = []
        """Names of the first calls the model made against the client's `tool_choice`: for the log."""
        self.late_citations = 0
        """How many citations came when their text had been told already: for the log."""
        self.problem: Problem | None = None
        """Why the response failed."""

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        return self._phase == "over"

    @property
    def usage(self) -> Usage | None:
        """What the upstream has counted so far."""
        return self._usage

    def begin(self) -> list[e.Event]:
        """The first two events."""
        self._expect("new")
        self._phase = "talking"
        return [
            e.ResponseCreated(sequence_number=self._number(), response=self._response),
            e.ResponseInProgress(sequence_number=self._number(), response=self._response),
        ]

    def feed(self, deltas: Iterable[d.Delta]) -> list[e.Event]:
        """What the client is told of what the model just said."""
        self._expect("talking")
        events: list[e.Event] = []
        for delta in deltas:
            events += self._take(delta)
            if self.over:
                break
        return events

    def keep_alive(self) -> list[e.Event]:
        """A sign of life that every known client accepts and none shows."""
        self._expect("talking")
        for item in reversed(self._open_items()):
            if (empty_delta := item.empty_delta()) is not None:
                return [empty_delta]
        alive = replace(self._response, output=self._output())
        return [e.ResponseInProgress(sequence_number=self._number(), response=alive)]

    def end(self) -> list[e.Event]:
        """The upstream has nothing more to say; whether that is an end or a cut depends on what it said last."""
        self._expect("talking")
        if self._stopped is None:
            return self.fail(CUT)
        match self._stopped.reason:
            case "end":
                events = [event for item in self._open_items() for event in self._close(item)]
                events += self._tell_kept()
                last = replace(self._response, status="completed", completed_at=self._now())
                return [*events, self._last(e.ResponseCompleted, last)]
            case "length":
                return self._stop_short("max_output_tokens")
            case "content_filter":
                return self._stop_short("content_filter")
            case _:
                assert_never(self._stopped.reason)

    def fail(self, problem: Problem) -> list[e.Event]:
        """Closes what can be closed, forgets calls that nobody may run, and says why."""
        self._expect("talking")
        self.problem = problem
        events = [] if self._prose is None else self._close(self._prose, "incomplete")
        self._calls.clear()
        error = ResponseError(code=problem.answer.failed_code, message=problem.failed_message)
        return [*events, self._last(e.ResponseFailed, replace(self._response, status="failed", error=error))]

    def _take(self, delta: d.Delta) -> list[e.Event]:  # noqa: C901, PLR0911, PLR0912 — one case per delta, and the union is closed
        match delta:
            case d.TextDelta():
                return self._text(delta)
            case d.CallArguments():
                return self._arguments(delta)
            case d.ReasoningDelta():
                return self._think(delta.text) if delta.text else []
            case d.CallOpened():
                return self._open_call(delta)
            case d.RefusalDelta() if self._for_codex:
                return self._text(d.TextDelta(delta.text))
            case d.RefusalDelta():
                return self._refuse(delta.text) if delta.text else []
            case d.AnnotationAdded():
                return self._cite(delta)
            case d.ProviderStateAdded():
                self._keep(delta.fields, delta.key)
                return []
            case d.ImageWritten():
                return self._draw(delta)
            case d.Compacted():
                return self._compact(delta)
            case d.UsageReported():
                self._usage = delta.usage
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
        if isinstance(self._prose, OpenMessage):
            return self._prose.add_text(delta)
        self._held.add(delta)
        return self._say_held() if delta.text.strip() else []

    def _say_held(self) -> list[e.Event]:
        if not (held := self._held.take()):
            return []
        events, message = self._message()
        for delta in held:
            events += message.add_text(delta)
        return events

    def _refuse(self, text: str) -> list[e.Event]:
        self._held.take()
        events, message = self._message()
        return [*events, *message.add_refusal(text)]

    def _cite(self, delta: d.AnnotationAdded) -> list[e.Event]:
        """A citation of what is open. One of text that is told already comes too late."""
        held = self._held.length
        told_already = not delta.is_of(held) or (not held and self._has_spoken)
        if told_already and not isinstance(self._prose, OpenMessage):
            self.late_citations += 1
            return []
        events = self._say_held()
        more, message = self._message()
        cited = message.annotate(delta)
        if cited is None:
            self.late_citations += 1
        return [*events, *more, *(cited or ())]

    def _think(self, text: str) -> list[e.Event]:
        if isinstance(self._prose, OpenSummary | OpenRawReasoning):
            return self._prose.add(text)
        self._held_thought.append(text)
        if not text.strip():
            return []
        thought = "".join(self._held_thought)
        events = self._make_room()
        self._prose = item = self._reasoning(self._position("rs"), self._carried())
        return [*events, *item.open(), *item.add(thought)]

    def _keep(self, fields: dict[str, Any], key: int | None = None) -> None:
        call_id = None if key is None else self._id_of_key.get(key)
        if self._seal is None or not fields or (key is not None and call_id is None):
            return  # nobody carries it, or it belongs to a call that was never told
        if isinstance(self._prose, OpenSummary | OpenRawReasoning):
            self._prose.carried.keep(StatePiece(fields, call_id))
        else:
            self._kept.append(StatePiece(fields, call_id))

    def _carried(self) -> Carried:
        """All that waits, for a new item."""
        kept, self._kept = self._kept, []
        return Carried(self._seal, kept)

    def _tell_kept(self) -> list[e.Event]:
        """All that waits, in an item of its own."""
        if not self._kept:
            return []
        position = self._position("rs")
        item, events = unspoken(position, self._carried())
        self._finished[position.output_index] = item
        return events

    def _message(self) -> tuple[list[e.Event], OpenMessage]:
        if isinstance(self._prose, OpenMessage):
            return [], self._prose
        events = self._make_room() + self._tell_kept()
        self._prose = item = OpenMessage(self._position("msg"))
        return [*events, *item.open()], item

    def _draw(self, image: d.ImageWritten) -> list[e.Event]:
        self._held.take()
        events = self._make_room()
        item = OpenImage(self._position("ig"))
        events += item.open()
        self._finished[item.position.output_index], more = item.close(image)
        return [*events, *more]

    def _compact(self, compacted: d.Compacted) -> list[e.Event]:
        """An item that is whole as soon as it opens."""
        self._held.take()
        events = self._make_room()
        position = self._position("cmp")
        item = Compaction(id=position.id, encrypted_content=compacted.encrypted_content)
        self._finished[position.output_index] = item
        added = position.item(e.OutputItemAdded, item=Compaction(id=position.id))
        return [*events, added, position.item(e.OutputItemDone, item=item)]

    def _open_call(self, delta: d.CallOpened) -> list[e.Event]:
        if not self._carriers.allows(delta.name):
            remember_name(self.ruled_out, delta.name)
            self._seat_of_key[delta.key] = None
            return []
        self._held.take()
        call_id = delta.call_id
        if not call_id or call_id in self._call_ids:
            call_id = self._mint("call")
        self._call_ids.add(call_id)
        self._id_of_key[delta.key] = call_id
        self._keep(delta.kept, delta.key)
        events = self._make_room() + self._tell_kept()
        position = self._position(self._carriers.item_prefix(delta.name))
        self._seat_of_key[delta.key] = position.output_index
        self._calls[position.output_index] = item = self._carriers.open_call(delta.name, call_id, position)
        return [*events, *item.open()]

    def _arguments(self, delta: d.CallArguments) -> list[e.Event]:
        seat = self._seat_of_key.get(delta.key, -1)
        if seat is None or not delta.text:
            return []
        if seat in self._calls:
            self._whole_calls.add(seat, delta.text)
            return self._calls[seat].add(delta.text)
        if seat in self._finished and not delta.text.strip():  # white space behind a whole call says nothing
            return []
        return self.fail(CALL_NOT_OPEN)

    def _make_room(self) -> list[e.Event]:
        """Closes what cannot stay open beside a new item."""
        self._held_thought.clear()
        closing: list[OpenItem] = [*self._whole_calls.found(self._calls)]
        if self._prose is not None:
            closing.append(self._prose)
        events = [event for item in closing for event in self._close(item)]
        return events + [event for call in self._calls.values() for event in call.announce()]

    def _stop_short(self, reason: Literal["max_output_tokens", "content_filter"]) -> list[e.Event]:
        items = self._open_items()
        whole = {call.position.output_index for call in self._whole_calls.found(self._calls)}
        last = max([*self._finished, *(item.position.output_index for item in items)], default=0)
        if any(item.position.output_index not in whole and item.position.output_index < last for item in items):
            return self.fail(CUT_IN_SEVERAL_CALLS)
        if self._for_codex and len(whole) < len(self._calls):
            return self.fail(CUT_IN_A_CALL)
        events = []
        for item in items:
            events += self._close(item, "completed" if item.position.output_index in whole else "incomplete")
        details = IncompleteDetails(reason=reason)
        response = replace(self._response, status="incomplete", incomplete_details=details)
        return [*events, self._last(e.ResponseCompleted if self._for_codex else e.ResponseIncomplete, response)]

    def _open_items(self) -> list[OpenItem]:
        """Everything open, in seat order."""
        items: list[OpenItem] = list(self._calls.values())
        if self._prose is not None:
            items.append(self._prose)
        return sorted(items, key=lambda item: item.position.output_index)

    def _close(self, item: OpenItem, status: ItemStatus = "completed") -> list[e.Event]:
        if item is self._prose:
            self._prose, self._has_spoken = None, self._has_spoken or isinstance(item, OpenMessage)
        else:
            del self._calls[item.position.output_index]
        closed = item.close(status)
        if closed.item is not None:
            self._finished[item.position.output_index] = closed.item
        return closed.events

    def _last(self, event: type[e.LastEvent], response: Response) -> e.Event:
        self._phase = "over"
        last = replace(response, output=self._output(), usage=self._usage)
        return event(sequence_number=self._number(), response=last)

    def _output(self) -> list[OutputItem]:
        return [self._finished[seat] for seat in sorted(self._finished)]

    def _position(self, prefix: str) -> ItemPosition:
        return ItemPosition(self._mint(prefix), self._seat(), self._number)

    def _expect(self, phase: Literal["new", "talking"]) -> None:
        if self._phase != phase:
            raise MisuseError(f"the response is {self._phase}, not {phase}")
