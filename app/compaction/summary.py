"""A turn that begins with a summary: the ask for the summary, and what follows it.

Theory of operation
-------------------
A summary is the answer to an ordinary ask: the conversation, and `SUM_UP` after it. An ordinary turn of the upstream's
dialect reads that answer, and its events are not sent: `SummaryTurn` takes the text from the last one. Meanwhile the
client gets keep-alives. Then it gets the compaction item, and

    asked for by the client     the last event
    by `context_management`     the answer of a second turn, whose request is the item's window in place of the
                                conversation; it continues after the events and items that were sent
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ..bridges.table import BridgeTable
from ..emitter.deltas import Stopped, UsageReported
from ..emitter.emitter import Emitter
from ..emitter.opening_response import opening_response
from ..emitter.rules import StopReason
from ..parsing.items import parse_item
from ..prompt_cache.prefix import Prefix
from ..protocol.events import Event, LastEvent, RelayedLast
from ..protocol.ids import NewId
from ..protocol.problems import Problem, refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import ConfigurationUpdateItem, InputItem, MessageItem
from ..protocol.request.summaries import SummaryTrigger
from ..protocol.request.text_format import PlainFormat
from ..protocol.response import NOTHING_SENT, Identity, Sent, Usage
from ..protocol.seals import Sealer
from ..protocol.warnings import ClientWarning
from .remaining_history import (
    MOST_VERBATIM,
    SET_UP,
    SplitConversation,
    Window,
    compaction_item,
    fits_a_window,
    split,
    triggered,
    whole_window,
)
from .summary_text import SUM_UP, written_summary

CHARACTERS_PER_TOKEN: Final = 4
"""A rough mean over languages and code."""
KEPT: Final = 80_000
"""Characters of the user's messages that are kept unchanged in addition to a summary, at most."""

NOTHING_BEFORE: Final = "There is nothing to summarize before its last step."
TOO_MANY: Final = f"More than {MOST_VERBATIM} of its items would have to be kept unchanged."
NO_SUMMARY: Final = Problem(
    code="upstream_error", message="The model was asked to summarize the conversation, and returned no summary."
)
NO_SEAL: Final = (
    "This server cannot summarize conversations: summaries are encrypted, and its configuration has `seal.when`"
    ' = "never".'
)


class OrdinaryTurn(Protocol):
    """A turn of any dialect."""

    ask: dict[str, Any]
    warnings: Sequence[ClientWarning]

    @property
    def length(self) -> int: ...  # noqa: D102 — as in the dialects
    @property
    def prefix(self) -> Prefix: ...  # noqa: D102
    @property
    def notes(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def over(self) -> bool: ...  # noqa: D102
    @property
    def problem(self) -> Problem | None: ...  # noqa: D102
    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]: ...  # noqa: D102
    def receive(self, payload: Any, /) -> list[Event]: ...  # noqa: D102
    def end(self) -> list[Event]: ...  # noqa: D102
    def fail(self, problem: Problem) -> list[Event]: ...  # noqa: D102


TurnT = TypeVar("TurnT", bound=OrdinaryTurn)
Make = Callable[[CreateResponse, Sealer | None], TurnT]
"""Makes the turn for a request; the sealer opens what is sealed in it."""


class SummaryContext(NamedTuple):
    """What a turn needs besides its request."""

    identity: Identity
    new_id: NewId
    now: Callable[[], int]
    sealer: Sealer | None
    for_codex: bool = False


def may_be_summarized(request: CreateResponse) -> bool:
    """Whether a turn for this request may begin with a summary, on any upstream."""
    return triggered(request) or request.summary_threshold is not None


def first_turn(request: CreateResponse, make: Make[TurnT], context: SummaryContext) -> "TurnT | SummaryTurn":
    """The first turn: one for a summary, if the client asks for it or the conversation is too long.

    `request` is expanded. Raises `ProblemError` if a summary is asked for and is not possible.
    """
    if triggered(request):
        return summary_alone(request, make, context)
    turn = make(request, context.sealer)
    return summarized_first(request, turn, make, context, tokens=turn.length)


def summarized_first(
    request: CreateResponse, turn: TurnT, make: Make[TurnT], context: SummaryContext, *, tokens: int
) -> "TurnT | SummaryTurn":
    """The turn for a summary, if this turn of the request has more tokens than the client wants; else this turn."""
    threshold = request.summary_threshold
    if threshold is None or tokens <= threshold:
        return turn
    parts = split(request.items, threshold * CHARACTERS_PER_TOKEN // 2)
    sealer = context.sealer
    if parts is None or sealer is None or not fits_a_window(parts, _most_kept(request)):
        reason = NOTHING_BEFORE if parts is None else NO_SEAL if sealer is None else TOO_MANY
        details = f"'context_management' has no effect on this conversation. {reason}"
        turn.warnings = (*turn.warnings, ClientWarning("context_management", "compaction", details))
        return turn
    inner = make(_asking_for_summary(request, parts.head), sealer.fresh())
    return SummaryTurn(request, inner, context, sealer, warnings=turn.warnings, parts=parts)


def summary_alone(request: CreateResponse, make: Make[TurnT], context: SummaryContext) -> "SummaryTurn":
    """The turn for a summary alone. Raises `ProblemError` if none is possible."""
    if context.sealer is None:
        raise refuse("unsupported_parameter", NO_SEAL, "input")
    if len(request.items) == 1:
        raise refuse("invalid_value", "'input' contains nothing to summarize.", "input")
    inner = make(_asking_for_summary(request, request.items), context.sealer)
    return SummaryTurn(request, inner, context, context.sealer, warnings=inner.warnings)


class SummaryTurn:
    """Reads a summary and makes the compaction item from it. `goes_on` is whether an answer follows."""

    def __init__(
        self,
        request: CreateResponse,
        inner: OrdinaryTurn,
        context: SummaryContext,
        sealer: Sealer,
        *,
        warnings: Sequence[ClientWarning],
        parts: SplitConversation | None = None,
    ) -> None:
        self._request = request
        self._inner = inner
        self._sealer = sealer
        self._parts = parts
        self._last: LastEvent | RelayedLast | None = None
        """The end of the model's answer."""
        self.warnings = warnings
        self.late_warnings: Sequence[ClientWarning] = ()
        self.size = request.size
        """Bytes of the request."""
        self._next: CreateResponse | None = None
        self.emitter = Emitter(
            opening_response(request, id=context.identity.id, created_at=context.identity.created_at),
            tools=BridgeTable([]),
            new_id=context.new_id,
            now=context.now,
            for_codex=context.for_codex,
        )
        """Makes the events for the client."""

    @property
    def ask(self) -> dict[str, Any]:
        """The body that the upstream is sent."""
        return self._inner.ask

    @property
    def length(self) -> int:
        """The approximate number of tokens of the ask."""
        return self._inner.length

    @property
    def prefix(self) -> Prefix:
        """What a prompt cache compares of the ask."""
        return self._inner.prefix

    @property
    def goes_on(self) -> bool:
        """Whether an answer is to follow the summary."""
        return self._parts is not None

    @property
    def next_request(self) -> CreateResponse:
        """The request of the turn that follows, once the summary is finished."""
        assert self._next is not None  # noqa: S101 — our own misuse
        return self._next

    @property
    def notes(self) -> dict[str, Any]:
        """For the log: why there is a summary, and the notes of the ask for it."""
        notes = {name: note for name, note in self._inner.notes.items() if name in {"dropped_tools", "usage"}}
        return {**notes, "compaction": "threshold" if self.goes_on else "asked for"}

    @property
    def over(self) -> bool:
        """Whether the summary is complete or has failed."""
        return self._last is not None or self.emitter.over

    @property
    def problem(self) -> Problem | None:
        """Why there is no summary."""
        return self.emitter.problem or self._inner.problem

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:
        """The first two events, unless they have been sent already. The upstream has been asked before."""
        self._inner.begin()
        return self.emitter.begin(sent)

    def receive(self, payload: Any) -> list[Event]:
        """Reads one payload. Returns no events."""
        return self._read(self._inner.receive(payload))

    def keep_alive(self) -> list[Event]:
        """An event that shows the client that the turn still runs."""
        return self.emitter.keep_alive()

    def end(self) -> list[Event]:
        """Called when the upstream closed its stream. Returns no events: `finish` makes them."""
        return self._read(self._inner.end())

    def fail(self, problem: Problem) -> list[Event]:
        """The last events of a turn that fails. They hold the usage of the summary so far."""
        if self._last is None:
            self._read(self._inner.fail(problem))
        return [*self._report_usage(), *self.emitter.fail(problem)]

    def stop(self, reason: StopReason) -> list[Event]:
        """The last events of a turn that its client ends."""
        return self.emitter.stop(reason, lambda: None)

    def stop_at_boundary(self) -> list[Event]:
        """No events: a turn with a summary cannot be steered."""
        return []

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return self.emitter.next_number()

    def finish(self) -> list[Event]:
        """The compaction item, once the summary is complete; and the last events, unless an answer follows.

        This takes long for a long request.
        """
        if self.emitter.over or self._last is None:
            return []
        if self._inner.problem is not None:
            return self.fail(self._inner.problem)
        summary = written_summary(self._last)
        if not summary.text:
            return self.fail(_refused(summary.refusal) if summary.refusal else NO_SUMMARY)
        events = self.emitter.feed([compaction_item(self._window(summary.text), self._sealer)])
        events += self._report_usage()
        if self._parts is None:
            return [*events, *self.emitter.feed([Stopped(summary.ending)]), *self.emitter.end()]
        return events

    def _read(self, events: list[Event]) -> list[Event]:
        if events and isinstance(events[-1], LastEvent | RelayedLast):
            self._last = events[-1]
        return []

    def _report_usage(self) -> list[Event]:
        usage: Usage | None = None if self._last is None else self._last.response.usage
        return [] if usage is None else self.emitter.feed([UsageReported(usage)])

    def _window(self, text: str) -> Window:
        if self._parts is None:
            return Window(summary=text)
        window = whole_window(self._parts, text, _most_kept(self._request))
        set_up = [item for item in self._parts.head if item.type in SET_UP]
        items = [*set_up, *(parse_item(item, "input") for item in window.items)]
        update = {"input": items, "positions": None, "context_management": []}
        self._next = self._request.model_copy(update=update)
        return window


def _refused(refusal: str) -> Problem:
    return Problem(code="invalid_prompt", message=f"The model refused to sum the conversation up: {refusal}")


def _asking_for_summary(request: CreateResponse, items: Sequence[InputItem]) -> CreateResponse:
    """The request for a summary of these items. Its tools stay, so that prompt caches hold, but none may be called."""
    kept = [_without_format(item) for item in items if not isinstance(item, SummaryTrigger)]
    update = {
        "input": [*kept, MessageItem(role="user", content=SUM_UP)],
        "tool_choice": "none",
        "text": request.text.model_copy(update={"format": PlainFormat(type="text")}),
        "max_output_tokens": None,
        "context_management": [],
    }
    return request.model_copy(update=update)


def _without_format(item: InputItem) -> InputItem:
    """The item without an update of the format: a summary is plain text."""
    return item.model_copy(update={"text": None}) if isinstance(item, ConfigurationUpdateItem) else item


def _most_kept(request: CreateResponse) -> int:
    """How many characters of the user's messages are kept: at most a quarter of the threshold."""
    return min(KEPT, (request.summary_threshold or 0) * CHARACTERS_PER_TOKEN // 4)
