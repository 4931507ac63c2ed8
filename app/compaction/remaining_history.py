"""The window: what remains of a summarized conversation, how it is sealed, and how a request expands it.

Theory of operation
-------------------
The client carries a summary sealed, in a `compaction` item, in one of two forms.

    asked for by the client     the item holds the summary alone; the client keeps other items as it wants
    by `context_management`     the item is all of the conversation that is left (a **whole** window): the messages of
                                system, developer and user, the summary, and the last step unchanged; all items before
                                it are left out

Of the items before one of the first form only messages of system, developer and user are read: the summary covers the
rest.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ..emitter.deltas import ItemWritten
from ..parsing.items import parse_item
from ..protocol.output_items import OutputItem
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import InputItem, MessageItem
from ..protocol.request.plain_messages import role_of, user_message
from ..protocol.request.summaries import SUMMARY_TYPES, SummaryItem, SummaryTrigger
from ..protocol.seals import Sealer
from .shortened_outputs import SET_UP, plain
from .summary_text import INTRODUCTION

Json = dict[str, Any]

MOST_VERBATIM: Final = 4_096
"""Items that a window may hold unchanged. A window goes into the next one: without a bound they would grow."""


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What remains of a conversation."""

    summary: str
    whole: bool = False
    """Whether it replaces all items before it, with its own items around the summary. Otherwise the client has kept the
    items that it wants to keep."""
    before: list[dict[str, Any]] = []
    after: list[dict[str, Any]] = []

    @property
    def items(self) -> list[dict[str, Any]]:
        """All of it, as input items."""
        return [*self.before, user_message(f"{INTRODUCTION}\n\n{self.summary}"), *self.after]


def sealed_window(window: Window, sealer: Sealer) -> str:
    """The `encrypted_content` of a compaction item."""
    return sealer.seal("compaction", msgspec.to_builtins(window))


def opened_window(envelope: str, sealer: Sealer | None, param: str) -> Window | None:
    """The window in an envelope; None if it cannot be read here. Raises `ProblemError` as `Sealer.open` does."""
    content = None if sealer is None else sealer.open("compaction", envelope, param)
    return None if content is None else msgspec.convert(content, Window)


class Compaction(OutputItem, frozen=True, kw_only=True, tag="compaction"):
    """What remains of a conversation, sealed. In the API it has no status."""

    encrypted_content: str = ""


def compaction_item(window: Window, sealer: Sealer) -> ItemWritten:
    """The output item that holds the window."""
    sealed = Compaction(id="", encrypted_content=sealed_window(window, sealer))
    return ItemWritten("cmp", added=Compaction(id=""), item=sealed)


class ExpandedItems(NamedTuple):
    """Items after the expansion, each with the position in `input` of the item that it comes from."""

    items: list[Any]
    positions: list[int]


def expanded(request: CreateResponse, sealer: Sealer | None) -> CreateResponse:
    """The request with its last compaction item replaced by its window. An expanded request is not changed.

    Raises `ProblemError` as `Sealer.open` does.
    """
    if request.positions is not None or SummaryItem not in map(type, request.items):
        return request
    result = _expanded_items(request.items, lambda item: parse_item(item, "input"), sealer)
    return request.model_copy(update={"input": result.items, "positions": result.positions})


def expanded_body(request: CreateResponse, sealer: Sealer | None) -> CreateResponse:
    """The same for the items as they were posted, too, which are what another Responses server gets."""
    items = request.raw["input"]
    if request.positions is not None or not isinstance(items, list):
        return request
    result = _expanded_items(items, lambda item: item, sealer)
    pairs = zip(result.items, result.positions, strict=True)
    read = [request.items[at] if item is items[at] else parse_item(item, "input") for item, at in pairs]
    raw = {**request.raw, "input": result.items}
    return request.model_copy(update={"raw": raw, "input": read, "positions": result.positions})


def _expanded_items(items: Sequence[Any], made: Callable[[Json], Any], sealer: Sealer | None) -> ExpandedItems:
    """These items with the last compaction item that can be read here expanded, and without what it covers.

    They are shapes or plain objects; `made` makes such an item from a plain object. Compaction items before the last
    one that opens are not opened: a client may send many, and each may be large. Raises `ProblemError` as
    `Sealer.open` does.
    """
    last, window = _last_window(items, sealer)
    if window is None:
        return ExpandedItems(list(items), list(range(len(items))))
    taken = [
        (item, position)
        for position, item in enumerate(items[:last])
        if _get(item, "type") in SET_UP or (_is_from_outside(item) and not window.whole)
    ]
    taken += [(made(inner), last) for inner in window.items]
    taken += [(item, position) for position, item in enumerate(items[last + 1 :], last + 1)]
    return ExpandedItems([item for item, _ in taken], [position for _, position in taken])


def _last_window(items: Sequence[Any], sealer: Sealer | None) -> tuple[int, Window | None]:
    """The last compaction item that can be read here, and what it holds."""
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if _get(item, "type") in SUMMARY_TYPES and isinstance(envelope := _get(item, "encrypted_content"), str):
            window = opened_window(envelope, sealer, f"input[{position}].encrypted_content")
            if window is not None and len(window.before) + len(window.after) <= MOST_VERBATIM:
                return position, window
    return -1, None


def triggered(request: CreateResponse) -> bool:
    """Whether the request ends with the trigger for a summary alone."""
    return bool(request.items) and isinstance(request.items[-1], SummaryTrigger)


class SplitConversation(NamedTuple):
    """A conversation, split into what is summed up and the last step, which is not."""

    head: list[InputItem]
    tail: list[InputItem]


def split(items: Sequence[InputItem], most: int) -> SplitConversation | None:
    """The conversation, split. None if no part of it can be summed up.

    The last step is what the model was sent since its last answer, or its last calls with their outputs; the latter
    are summed up as well if they are longer than `most` characters, or too many.
    """
    start = len(items)
    while start and _is_from_outside(items[start - 1]):
        start -= 1
    if start == len(items):
        while start and items[start - 1].type.endswith("_output"):
            start -= 1
        while start and not _is_from_outside(items[start - 1]) and not items[start - 1].type.endswith("_output"):
            start -= 1
        tail = items[start:]
        if len(tail) > MOST_VERBATIM // 2 or sum(len(item.model_dump_json()) for item in tail) > most:
            start = len(items)
    head = list(items[:start])
    if all(_is_from_outside(item) or item.type in SET_UP for item in head):
        return None
    return SplitConversation(head, list(items[start:]))


def whole_window(parts: SplitConversation, summary: str, most: int) -> Window:
    """The window of a split conversation, which keeps at most `most` characters of the user's messages."""
    return Window(
        summary=summary,
        whole=True,
        before=[plain(item) for item in _kept(parts.head, most)],
        after=[plain(item) for item in parts.tail],
    )


def fits_a_window(parts: SplitConversation, most: int) -> bool:
    """Whether a window may hold what would be kept unchanged."""
    return len(_kept(parts.head, most)) + len(parts.tail) <= MOST_VERBATIM


def _kept(items: Sequence[InputItem], most: int) -> list[InputItem]:
    """All messages of system and developer, and the newest ones of the user."""
    kept: list[InputItem] = []
    for item in reversed(items):
        if not isinstance(item, MessageItem) or item.role == "assistant" or _is_summary(item):
            continue
        if item.role == "user":
            most -= len(item.model_dump_json())
            if most < 0:
                continue
        kept.append(item)
    return kept[::-1]


def _is_summary(item: MessageItem) -> bool:
    return isinstance(item.content, str) and item.content.startswith(INTRODUCTION)


def _is_from_outside(item: Any) -> bool:
    return role_of(item) in ("user", "system", "developer")


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else getattr(item, key, None)
