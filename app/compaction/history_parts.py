"""A conversation that is too long for one ask: its oldest outputs are shortened, then its oldest steps are taken alone.

A **step** is what may not be separated: calls and their outputs, with what is between them, and reasoning with what the
model wrote after it. A summary is asked for without reasoning: a server that signs it wants all of it, or none.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ..protocol.request.input_items import InputItem, MessageItem, ReasoningItem
from ..protocol.request.input_parts import TextPart
from ..protocol.request.shape import Shape
from ..protocol.request.summaries import SummaryTrigger
from ..protocol.request.tool_items import ToolItem

CHARACTERS_OF_MEDIA: Final = 4_000
"""How many characters a picture or a file counts as."""
SHORT_OUTPUT: Final = 4_000
"""Characters of a shortened output, at most."""
SET_UP: Final = frozenset({"additional_tools", "configuration_update"})
"""Items that are not part of the conversation."""
LEFT_OUT: Final = "[A picture or a file was left out here.]"
TOLD: Final = "[A part of the conversation that was too long, as JSON:]"

_MEDIA: Final = frozenset({"image_url", "file_data", "data"})
"""Keys whose values may hold a whole file."""
_TEXTS: Final = ("text", "stdout", "stderr")
"""Keys of texts in an output."""


class HistoryStep(NamedTuple):
    """Items that belong together: from `start` up to, but without, `end`."""

    start: int
    end: int
    characters: int


class ShortHistory(NamedTuple):
    """Items, the oldest outputs of which are shortened."""

    items: list[InputItem]
    steps: list[HistoryStep]
    shortened: frozenset[int]
    """The positions of the shortened outputs."""


class HistoryPart(NamedTuple):
    """The next part of a conversation to be summed up."""

    items: list[InputItem]
    end: int
    """How many items of the conversation are covered by it, and by the parts before it."""
    shortened: int
    """How many outputs are shortened."""
    left_out: int
    """How many items were left out, because the conversation is too long for all parts together."""


def shortened(items: Sequence[InputItem], room: int) -> ShortHistory:
    """The items with as many of the oldest outputs shortened as it takes for all to have `room` characters."""
    kept = list(items)
    sizes = [0 if _is_aside(item) else characters_of(item) for item in kept]
    total, short_ones = sum(sizes), set()
    most = max(min(SHORT_OUTPUT, room // 8), 0)
    for index, item in enumerate(kept):
        if total <= room:
            break
        if sizes[index] > most and (short := _with_short_output(item, most)) is not None:
            kept[index] = short
            short_ones.add(index)
            total -= sizes[index]
            sizes[index] = characters_of(short)
            total += sizes[index]
    return ShortHistory(kept, _steps(kept, sizes), frozenset(short_ones))


def next_part(items: Sequence[InputItem], start: int, room: int, most_parts: int) -> HistoryPart:
    """The part that begins at `start`, in `room` characters, where the rest may have `most_parts` parts."""
    history = shortened(items[start:], room)
    sizes = [min(step.characters, room) for step in history.steps]
    total, first = sum(sizes), 0
    while total > room * most_parts and first < len(sizes) - 1:
        total -= sizes[first]
        first += 1
    left_out = history.steps[first].start if first else 0
    taken: list[InputItem] = []
    used, end = 0, left_out
    for step, size in zip(history.steps[first:], sizes[first:], strict=True):
        if used and used + size > room:
            break
        used, end = used + size, step.end
        of_step = [item for item in history.items[step.start : step.end] if not _is_aside(item)]
        taken += of_step if step.characters <= room else [_told(of_step, room)]
    count = sum(left_out <= index < end for index in history.shortened)
    return HistoryPart(taken, start + end, count, left_out)


def cut(text: str, most: int) -> str:
    """The text, without its middle if it is longer than that."""
    if len(text) <= most:
        return text
    half = most // 2
    note = f"[{len(text) - 2 * half} characters were left out here]"
    return f"{text[:half]}\n{note}\n{text[len(text) - half :]}"


def characters_of(item: InputItem) -> int:
    """About how many characters a model reads of this item. Every picture counts the same."""
    return _characters(plain(item))


def plain(item: InputItem) -> dict[str, Any]:
    """The item as a plain object."""
    result: dict[str, Any] = item.model_dump(mode="json", by_alias=True, exclude_none=True, serialize_as_any=True)
    return result


def _is_aside(item: InputItem) -> bool:
    return item.type in SET_UP or isinstance(item, ReasoningItem | SummaryTrigger)


def _characters(value: Any, key: str = "") -> int:
    match value:
        case str():
            return min(len(value), CHARACTERS_OF_MEDIA) if key in _MEDIA else len(value)
        case dict():
            return sum(len(name) + 6 + _characters(inner, name) for name, inner in value.items())
        case list():
            return sum(_characters(inner) + 1 for inner in value)
        case _:
            return 4


def _steps(items: Sequence[InputItem], sizes: Sequence[int]) -> list[HistoryStep]:
    last: dict[str, int] = {}
    for index, item in enumerate(items):
        if call_id := _call_id(item):
            last[call_id] = index
    steps: list[HistoryStep] = []
    start = reach = characters = 0
    thought = False
    for index, item in enumerate(items):
        is_answer = not (isinstance(item, MessageItem) and item.role != "assistant")
        belongs = item.type.endswith("_output") or (is_answer and thought)
        if index > start and index > reach and not belongs:
            steps.append(HistoryStep(start, index, characters))
            start, characters = index, 0
        thought = isinstance(item, ReasoningItem) or (thought and is_answer and not item.type.endswith("_output"))
        characters += sizes[index]
        reach = max(reach, index, last.get(_call_id(item), 0))
    return [*steps, HistoryStep(start, len(items), characters)] if items else []


def _call_id(item: InputItem) -> str:
    call_id = getattr(item, "call_id", None)
    return call_id if isinstance(call_id, str) else ""


def _with_short_output(item: InputItem, most: int) -> InputItem | None:
    """The item with an output of about `most` characters. None if it has none that could be shortened."""
    output = getattr(item, "output", None)
    if not isinstance(item, ToolItem) or not item.type.endswith("_output"):
        return None
    if isinstance(output, str):
        return item.model_copy(update={"output": cut(output, most)})
    if not isinstance(output, list) or not output:
        return None
    left = most
    parts = []
    for part in output:
        texts = {name: text for name in _TEXTS if isinstance(text := getattr(part, name, None), str)}
        if texts:
            update = {}
            for name, text in texts.items():
                update[name] = cut(text, left)
                left = max(left - len(text), 0)
            parts.append(part.model_copy(update=update))
        elif isinstance(part, Shape):
            parts.append(TextPart(type="input_text", text=LEFT_OUT))
        if left <= 0:
            break
    return item.model_copy(update={"output": parts})


def _told(items: Sequence[InputItem], most: int) -> InputItem:
    """A message that tells this step in at most about `most` characters."""
    first = items[0]
    if len(items) == 1 and isinstance(first, MessageItem):
        content = first.content
        if not isinstance(content, str):
            texts = [getattr(part, "text", None) or getattr(part, "refusal", None) or LEFT_OUT for part in content]
            content = "\n".join(map(str, texts))
        return first.model_copy(update={"content": cut(content, most)})
    text = msgspec.json.encode([_without_media(plain(item)) for item in items]).decode()
    return MessageItem(role="user", content=f"{TOLD}\n{cut(text, most)}")


def _without_media(value: Any, key: str = "") -> Any:
    match value:
        case str() if key in _MEDIA and len(value) > CHARACTERS_OF_MEDIA:
            return LEFT_OUT
        case dict():
            return {name: _without_media(inner, name) for name, inner in value.items()}
        case list():
            return [_without_media(inner) for inner in value]
        case _:
            return value
