"""The turn for a request on a route, in the dialect of its upstream."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

import msgspec

from .catalogue import Route
from .compaction.endpoint import NOTES, OWN_SUMMARY, for_own_summary, for_written_summary
from .compaction.posted_items import PostedItems
from .compaction.remaining_history import expanded, expanded_body, triggered
from .compaction.summary import first_turn, summarized_first
from .compaction.summary_turn import SummaryContext, SummaryTurn
from .dialects.chat.chat_options import ChatOptions
from .dialects.messages.messages_options import MessagesOptions
from .dialects.prompt_turn import PromptTurn
from .dialects.responses.relay_options import RelayOptions
from .off_loop import off_loop
from .options import SILENT_HINTS
from .protocol.ids import NewId
from .protocol.request.create_response import CreateResponse
from .protocol.response import Identity
from .protocol.seals import Sealer
from .protocol.warnings import ClientWarning, no_effect
from .providers.capabilities import ANYTHING, Capabilities
from .upstreams.port import UpstreamRefused, knows

if TYPE_CHECKING:
    from .dialects.responses.relay import RelayTurn
    from .dialects.responses.whole_answer import RelayedObject

TranslatedTurn: TypeAlias = PromptTurn[Any]
AnyTurn: TypeAlias = "TranslatedTurn | RelayTurn | RelayedObject | SummaryTurn"

IN_THE_REQUEST: Final = {
    "logprobs": "top_logprobs",
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
}
"""The client's name of a setting in a chat body, if it differs."""
NEAR: Final = 3
"""How many times as long, or as short, an estimate may be as what it estimates."""
COUNT_TIMEOUT: Final = 3
"""Seconds that an upstream may take to count the tokens of a turn before it is asked."""


def load_dialect(options: ChatOptions | MessagesOptions | RelayOptions) -> None:
    """Load the dialect of an upstream that is configured so, so that its first turn need not wait for that."""
    match options:
        case ChatOptions():
            from .dialects.chat import turn  # noqa: PLC0415, F401 — others are not loaded
        case MessagesOptions():
            from .dialects.messages import messages_turn  # noqa: PLC0415, F401 — as above
        case RelayOptions():
            from .dialects.responses import relay, whole_answer  # noqa: PLC0415, F401 — as above
        case other:
            assert_never(other)


async def new_turn(
    route: Route,
    request: CreateResponse,
    identity: Identity,
    new_id: NewId,
    now: Callable[[], int],
    *,
    for_codex: bool = False,
) -> AnyTurn:
    """A turn in the upstream's dialect, with a warning for each part of the request that is left out.

    Raises `ProblemError` if the request cannot be translated.
    """
    sealer = None if route.sealer is None else route.sealer.fresh()
    context = SummaryContext(identity, new_id, now, sealer, for_codex, route.most_tokens)
    known: dict[str, Any] = {
        "model": route.entry.model or route.model,
        "identity": identity,
        "new_id": new_id,
        "now": now,
        "for_codex": for_codex,
    }
    match route.entry.options:
        case ChatOptions() | MessagesOptions() as options:
            return await _translated(route, request, options, context, known)
        case RelayOptions() as options:
            return await _relayed(route, request, options, context, known)
        case other:
            assert_never(other)


async def _translated(
    route: Route,
    request: CreateResponse,
    options: ChatOptions | MessagesOptions,
    context: SummaryContext,
    known: dict[str, Any],
) -> TranslatedTurn | SummaryTurn:
    entry, sealer = route.entry, context.sealer
    can = options.can.over(await _known(route, known["model"]))

    def make(request: CreateResponse, sealer: Sealer | None) -> TranslatedTurn:
        own = msgspec.structs.replace(options, can=can, sealer=sealer)
        if isinstance(own, MessagesOptions):
            from .dialects.messages.messages_turn import MessagesTurn  # noqa: PLC0415 — loaded with its upstream

            return MessagesTurn(request, options=own, **known)
        from .dialects.chat.turn import ChatTurn  # noqa: PLC0415 — as above

        return ChatTurn(request, options=own, **known)

    request = await off_loop(request.size, expanded, request, sealer)
    if entry.resolved is not None and request.items:
        request = await entry.resolved(request, can, route.fetched_for)
    turn: TranslatedTurn | SummaryTurn
    threshold = request.summary_threshold
    if isinstance(options, MessagesOptions) and threshold is not None and not triggered(request):
        first = await off_loop(request.size, make, request, sealer)
        tokens = await _tokens(route, first, threshold)
        turn = await off_loop(request.size, partial(summarized_first, request, first, make, context, tokens=tokens))
    else:
        turn = await off_loop(request.size, partial(first_turn, request, make, context))
    turn.warnings = (*turn.warnings, *await _left_out(route, turn))
    return turn


async def _relayed(
    route: Route, request: CreateResponse, options: RelayOptions, context: SummaryContext, known: dict[str, Any]
) -> "RelayTurn | RelayedObject | SummaryTurn":
    from .dialects.responses.relay import RelayTurn  # noqa: PLC0415 — as above
    from .dialects.responses.whole_answer import RelayedObject  # noqa: PLC0415 — as above

    sealer = context.sealer

    def relay(request: CreateResponse, sealer: Sealer | None) -> RelayTurn:
        return RelayTurn(request, options=msgspec.structs.replace(options, sealer=sealer), **known)

    def own_summary(request: CreateResponse) -> RelayedObject:
        request = expanded_body(for_own_summary(request), sealer)
        own = msgspec.structs.replace(options, sealer=sealer)
        return RelayedObject(request, OWN_SUMMARY, model=known["model"], options=own, notes=NOTES)

    if route.address:
        return await off_loop(request.size, own_summary, request)
    request = await off_loop(request.size, expanded_body, request, sealer)
    if not (options.functions_only or request.summary_only):
        return await off_loop(request.size, relay, request, sealer)
    posted = await off_loop(request.size, PostedItems, request)

    def make(request: CreateResponse, sealer: Sealer | None) -> RelayTurn:
        return relay(posted.body_of(request), sealer)

    return await off_loop(request.size, partial(first_turn, for_written_summary(request), make, context))


async def _tokens(route: Route, turn: TranslatedTurn, threshold: int) -> int:
    """The tokens of a turn, to be compared with this threshold: counted by the upstream if an estimate is near it."""
    length = await off_loop(turn.size, lambda: turn.length)
    if not threshold / NEAR <= length <= threshold * NEAR:
        return length
    counted = None
    with suppress(UpstreamRefused, TimeoutError):
        async with asyncio.timeout(COUNT_TIMEOUT):
            counted = await route.counted(turn.ask)
    return length if counted is None else counted.tokens


async def _known(route: Route, model: str) -> Capabilities:
    upstream = route.entry.upstream
    return await upstream.capabilities(model) if knows(upstream) else ANYTHING


async def _left_out(route: Route, turn: TranslatedTurn | SummaryTurn) -> list[ClientWarning]:
    """A warning about each setting that the upstream will leave out of this ask."""
    upstream = route.entry.upstream
    if not knows(upstream):
        return []
    dropped = await upstream.dropped(turn.ask)
    names = dict.fromkeys(IN_THE_REQUEST.get(name, name) for name in dropped if name not in SILENT_HINTS)
    return [no_effect(name) for name in names]
