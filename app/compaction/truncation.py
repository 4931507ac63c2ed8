"""`truncation: auto`: a conversation that is too long for the model loses its oldest steps.

The rule is that of summaries: the oldest outputs are shortened first, then the oldest steps are left out. Messages of
system and developer stay, and so do the newest message of the user, and all after the last step that was left out. What
stays begins with a message of the user: if it would not, the newest one before it stays, too.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import InputItem, MessageItem
from ..protocol.response import InputTransformation
from ..protocol.warnings import ClientWarning
from .history_parts import SET_UP, characters_of, shortened
from .summary import LEAST_ROOM, TRIES, Make, TurnT
from .summary_turn import CHARACTERS_PER_TOKEN, SummaryContext


class _Kept(NamedTuple):
    """What remains of a conversation: the items, their positions, and those that were left out or shortened."""

    items: list[InputItem]
    positions: list[int]
    changed: list[InputTransformation]


def truncated(request: CreateResponse, turn: TurnT, make: Make[TurnT], context: SummaryContext) -> TurnT:
    """A turn whose ask has at most as many tokens as are known to fit, if the client wants that; else this turn."""
    most, items = context.most_tokens, request.items
    if request.truncation != "auto" or most is None or turn.length <= most or not items:
        return turn
    set_up = [item for item in items if _always_stays(item)]
    around = make(_with(request, _Kept([*set_up, items[-1]], [], [])), context.sealer).length
    room = (most - around) * CHARACTERS_PER_TOKEN
    tries = 0
    while True:
        room, tries = max(room, LEAST_ROOM), tries + 1
        kept = _newest(items, request.positions or range(len(items)), room)
        if not kept.changed:
            return turn
        turn = make(_with(request, kept), None if context.sealer is None else context.sealer.fresh())
        if turn.length <= most or room == LEAST_ROOM or tries == TRIES:
            break
        room -= (turn.length - most) * CHARACTERS_PER_TOKEN + room // 10
    removed = sum(each.action == "removed" for each in kept.changed)
    what = f"the oldest items were left out ({removed}), and outputs were shortened ({len(kept.changed) - removed})"
    details = f"'truncation: auto': {what}, because the conversation is too long for this model."
    turn.warnings = (*turn.warnings, ClientWarning("input", "truncation", details))
    return turn


def _newest(items: Sequence[InputItem], positions: Sequence[int], room: int) -> _Kept:
    """What remains of these items in so many characters."""
    history = shortened(items, room)
    before = _users_before(items)
    lengths = {-1: 0} | {index: characters_of(items[index]) for index in {*before} - {-1}}
    steps, total, first = history.steps, sum(step.characters for step in history.steps), 0
    while first < len(steps) - 1 and total + lengths[before[steps[first].start]] > room:
        total -= steps[first].characters
        first += 1
    start = steps[first].start if first else 0
    kept, kept_positions, changed = [], [], []
    for index, (old, item) in enumerate(zip(items, history.items, strict=True)):
        if index < start and index != before[start] and not _always_stays(item):
            changed.append(_changed(old, positions[index], "removed"))
            continue
        if index in history.shortened:
            changed.append(_changed(old, positions[index], "shortened"))
        kept.append(item)
        kept_positions.append(positions[index])
    return _Kept(kept, kept_positions, changed)


def _users_before(items: Sequence[InputItem]) -> list[int]:
    """For each item, the newest message of the user before it; -1 for none, and for a message of the user itself."""
    newest, found = -1, []
    for index, item in enumerate(items):
        if _is_user(item):
            newest = index
        found.append(-1 if newest == index else newest)
    return found


def _changed(item: InputItem, position: int, action: Literal["removed", "shortened"]) -> InputTransformation:
    item_id = getattr(item, "id", None)
    return InputTransformation(
        id=item_id if isinstance(item_id, str) and item_id else f"input[{position}]",
        type=item.type,
        action=action,
        reason="context_window",
    )


def _with(request: CreateResponse, kept: _Kept) -> CreateResponse:
    update = {"input": kept.items, "positions": kept.positions or None, "removed": tuple(kept.changed)}
    return request.model_copy(update=update)


def _is_user(item: InputItem) -> bool:
    return isinstance(item, MessageItem) and item.role == "user"


def _always_stays(item: InputItem) -> bool:
    return item.type in SET_UP or (isinstance(item, MessageItem) and item.role in {"system", "developer"})
