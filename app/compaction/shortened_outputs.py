"""A conversation that is too long for its summary: its oldest outputs lose their middle."""

from collections.abc import Sequence
from typing import Any, Final

from ..protocol.request.input_items import InputItem, ReasoningItem
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

_MEDIA: Final = frozenset({"image_url", "file_data", "data"})
"""Keys whose values may hold a whole file."""
_TEXTS: Final = ("text", "stdout", "stderr")
"""Keys of texts in an output."""


def shortened(items: Sequence[InputItem], excess: int) -> tuple[list[InputItem], int]:
    """The items with as many of the oldest outputs shortened as it takes to save so many characters; and how many."""
    kept, count = list(items), 0
    sizes = [0 if _is_aside(item) else characters_of(item) for item in kept]
    outputs = sum(item.type.endswith("_output") for item in kept) or 1
    most = max(min(SHORT_OUTPUT, (sum(sizes) - excess) // (2 * outputs)), 0)
    for index, item in enumerate(kept):
        if excess <= 0:
            break
        if sizes[index] > most and (short := _with_short_output(item, most)) is not None:
            kept[index] = short
            count += 1
            excess -= sizes[index] - characters_of(short)
    return kept, count


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
