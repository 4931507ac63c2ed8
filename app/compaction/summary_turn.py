"""The turn that reads a summary.

An ordinary turn of the upstream's dialect reads the answer, and its events are not sent: `SummaryTurn` takes the text
from the last one. Meanwhile the client gets keep-alives. What follows is in `summary.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ..bridges.table import BridgeTable
from ..emitter.deltas import Stopped, UsageReported
from ..emitter.emitter import Emitter
from ..emitter.opening_response import opening_response
from ..emitter.rules import StopReason
from ..parsing.items import parse_item
from ..protocol.events import Event, LastEvent, RelayedLast
from ..protocol.ids import NewId
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..protocol.response import NOTHING_SENT, Identity, Sent, Usage
from ..protocol.seals import Sealer
from ..protocol.warnings import ClientWarning
from .remaining_history import SplitConversation, Window, compaction_item, whole_window
from .shortened_outputs import SET_UP, cut, plain
from .summary_text import written_summary

CHARACTERS_PER_TOKEN: Final = 4
"""A rough mean over languages and code."""
KEPT: Final = 80_000
"""Characters of the user's messages that are kept unchanged in addition to a summary, at most."""
NO_SUMMARY: Final = Problem(
    code="upstream_error", message="The model was asked to summarize the conversation, and returned no summary."
)
TOO_LONG: Final = ClientWarning(
    "input", "compaction", "The summary was cut in its middle: it was too long for the context window of the model."
)


class OrdinaryTurn(Protocol):
    """A turn of any dialect."""

    ask: dict[str, Any]
    warnings: Sequence[ClientWarning]

    @property
    def length(self) -> int: ...  # noqa: D102 — as in the dialects
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


class SummaryContext(NamedTuple):
    """What a turn needs besides its request."""

    identity: Identity
    new_id: NewId
    now: Callable[[], int]
    sealer: Sealer | None
    for_codex: bool = False
    most_tokens: int | None = None
    """The estimated tokens that an ask may have. None: not known."""


class AskedSummary(NamedTuple):
    """The ask for a summary."""

    turn: OrdinaryTurn
    shortened: int = 0
    """How many outputs of tools are shortened in it."""


class SummaryTurn:
    """Reads a summary and makes the compaction item from it. `goes_on` is whether an answer follows."""

    def __init__(
        self,
        request: CreateResponse,
        asked: AskedSummary,
        context: SummaryContext,
        sealer: Sealer,
        parts: SplitConversation | None = None,
    ) -> None:
        self._request = request
        self._inner = asked.turn
        self._sealer = sealer
        self._parts = parts
        self._most_kept = most_kept(request, context)
        self._longest = _longest_summary(context.most_tokens, alone=parts is None)
        self._shortened = asked.shortened
        self._last: LastEvent | RelayedLast | None = None
        """The end of the model's answer."""
        self.warnings = asked.turn.warnings
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
    def prompt(self) -> Any:
        """What the ask was made from, if that is in no dialect."""
        return getattr(self._inner, "prompt", None)

    @property
    def length(self) -> int:
        """The approximate number of tokens of the ask."""
        return self._inner.length

    @property
    def goes_on(self) -> bool:
        """Whether an ask for the answer is to follow."""
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
        if self._shortened:
            notes["shortened_outputs"] = self._shortened
        return {**notes, "compaction": "asked for" if self._parts is None else "threshold"}

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
        text = summary.text
        if self._longest is not None and len(text) > self._longest:
            text = cut(text, self._longest)
            self.late_warnings = [TOO_LONG]
        events = self.emitter.feed([compaction_item(self._window(text), self._sealer)])
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
        window = whole_window(self._parts, text, self._most_kept)
        set_up = [item for item in self._parts.head if item.type in SET_UP]
        items = [*set_up, *(parse_item(item, "input") for item in window.items)]
        raw = {**self._request.raw, "input": [*map(plain, set_up), *window.items]}
        update = {"input": items, "raw": raw, "positions": None, "context_management": []}
        self._next = self._request.model_copy(update=update)
        return window


def _refused(refusal: str) -> Problem:
    return Problem(code="invalid_prompt", message=f"The model refused to sum the conversation up: {refusal}")


def tokens_kept(request: CreateResponse, context: SummaryContext) -> int:
    """By how many tokens all that is kept beside a summary is limited: a threshold may be higher than the window."""
    threshold = request.summary_threshold or 0
    return threshold if context.most_tokens is None else min(threshold, context.most_tokens)


def most_kept(request: CreateResponse, context: SummaryContext) -> int:
    """How many characters of the user's messages are kept: at most a quarter of what may be kept in all."""
    return min(KEPT, tokens_kept(request, context) * CHARACTERS_PER_TOKEN // 4)


def _longest_summary(most_tokens: int | None, *, alone: bool) -> int | None:
    """How many characters a summary may have, so that the conversation goes on. None: not known.

    With what else is kept, half of the room is left to the last step and a quarter to messages of the user.
    """
    return None if most_tokens is None else most_tokens * CHARACTERS_PER_TOKEN // (2 if alone else 4)
