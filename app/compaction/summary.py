"""A turn that begins with a summary: the ask for the summary, and what follows it.

Theory of operation
-------------------
A summary is the answer to an ordinary ask: the conversation, and `SUM_UP` after it. `SummaryTurn` reads it. Then the
client gets the compaction item, and

    asked for by the client     the last event
    by `context_management`     the answer of a second turn, whose request is the item's window in place of the
                                conversation; it continues after the events and items that were sent

Of a conversation that is too long for the ask, the oldest outputs are shortened. How long an ask may be is known from
the model's `context_window`, or else learnt when the upstream refuses one (`turns/attempts.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ..protocol.problems import refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import ConfigurationUpdateItem, InputItem, MessageItem
from ..protocol.request.summaries import SummaryTrigger
from ..protocol.request.text_format import PlainFormat
from ..protocol.seals import Sealer
from ..protocol.warnings import ClientWarning
from .remaining_history import MOST_VERBATIM, fits_a_window, split, triggered
from .shortened_outputs import shortened
from .summary_text import SUM_UP
from .summary_turn import (
    CHARACTERS_PER_TOKEN,
    AskedSummary,
    OrdinaryTurn,
    SummaryContext,
    SummaryTurn,
    most_kept,
    tokens_kept,
)

_OF_ANSWERS: Final = frozenset({"context_management", "max_output_tokens", "tool_choice", "truncation"})
"""The members of a request that do not apply to a summary."""

NOTHING_BEFORE: Final = "There is nothing to summarize before its last step."
TOO_MANY: Final = f"More than {MOST_VERBATIM} of its items would have to be kept unchanged."
NO_SEAL: Final = (
    "This server cannot summarize conversations: summaries are encrypted, and its configuration has `seal.when`"
    ' = "never".'
)


TurnT = TypeVar("TurnT", bound=OrdinaryTurn)
Make = Callable[[CreateResponse, Sealer | None], TurnT]
"""Makes the turn for a request; the sealer opens what is sealed in it."""


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
    if request.summary_threshold is None:
        return turn
    return summarized_first(request, turn, make, context, tokens=turn.length)


def summarized_first(
    request: CreateResponse, turn: TurnT, make: Make[TurnT], context: SummaryContext, *, tokens: int
) -> "TurnT | SummaryTurn":
    """The turn for a summary, if this turn of the request has more tokens than the client wants; else this turn."""
    threshold = request.summary_threshold
    if threshold is None or tokens <= threshold:
        return turn
    parts = split(request.items, tokens_kept(request, context) * CHARACTERS_PER_TOKEN // 2)
    sealer = context.sealer
    if parts is None or sealer is None or not fits_a_window(parts, most_kept(request, context)):
        reason = NOTHING_BEFORE if parts is None else NO_SEAL if sealer is None else TOO_MANY
        details = f"'context_management' has no effect on this conversation. {reason}"
        turn.warnings = (*turn.warnings, ClientWarning("context_management", "compaction", details))
        return turn
    asked = _asked(request, parts.head, make, sealer.fresh(), context.most_tokens)
    summary = SummaryTurn(request, asked, context, sealer, parts)
    summary.warnings = (*turn.warnings, *(warning for warning in summary.warnings if warning not in turn.warnings))
    return summary


def summary_alone(request: CreateResponse, make: Make[TurnT], context: SummaryContext) -> "SummaryTurn":
    """The turn for a summary alone. Raises `ProblemError` if none is possible."""
    if context.sealer is None:
        raise refuse("unsupported_parameter", NO_SEAL, "input")
    if len(request.items) == 1:
        raise refuse("invalid_value", "'input' contains nothing to summarize.", "input")
    asked = _asked(request, request.items, make, context.sealer, context.most_tokens)
    return SummaryTurn(request, asked, context, context.sealer)


def _asked(
    request: CreateResponse, items: Sequence[InputItem], make: Make[TurnT], sealer: Sealer, most_tokens: int | None
) -> AskedSummary:
    """The turn for a summary of these items, the oldest outputs shortened if it has more than `most_tokens`."""
    turn = make(_asking_for_summary(request, items), sealer)
    if most_tokens is None or turn.length <= most_tokens:
        return AskedSummary(turn)
    kept, count = shortened(items, (turn.length - most_tokens) * CHARACTERS_PER_TOKEN)
    return AskedSummary(make(_asking_for_summary(request, kept), sealer), count)


def _asking_for_summary(request: CreateResponse, items: Sequence[InputItem]) -> CreateResponse:
    """The request for a summary of these items. Its tools stay, so that prompt caches hold, but none may be called."""
    positions = request.positions or range(len(items))
    both = zip(items, positions, strict=False)  # they may be the first items only
    kept = [(_without_format(item), position) for item, position in both if not isinstance(item, SummaryTrigger)]
    update = {
        "input": [*(item for item, _ in kept), MessageItem(role="user", content=SUM_UP)],
        "positions": [*(position for _, position in kept), len(items)],
        "tool_choice": "none",
        "text": request.text.model_copy(update={"format": PlainFormat(type="text")}),
        "max_output_tokens": None,
        "context_management": [],
        "raw": _raw_for_summary(request, items),
    }
    return request.model_copy(update=update)


def _raw_for_summary(request: CreateResponse, items: Sequence[InputItem]) -> dict[str, Any]:
    """The same for the body as it was posted, for another Responses server; its `input` is set where it is sent."""
    raw = {name: value for name, value in request.raw.items() if name not in _OF_ANSWERS}
    if isinstance(text := raw.get("text"), dict):
        raw["text"] = {name: value for name, value in text.items() if name != "format"}
    if raw.get("tools") or any(item.type == "additional_tools" for item in items):
        raw["tool_choice"] = "none"
    return raw | {"store": False, "stream": True}


def _without_format(item: InputItem) -> InputItem:
    """The item without an update of the format: a summary is plain text."""
    return item.model_copy(update={"text": None}) if isinstance(item, ConfigurationUpdateItem) else item
