"""A conversation that is too long for its summary: its oldest outputs lose their middle.

They are most of a long conversation, and the least missed.
"""

from collections.abc import Sequence

from ..types.json import Json, as_object, length

_SHORT = 4_000
"""Characters of a shortened output, at most."""
_TEXTS = ("text", "stdout", "stderr")
"""Keys of texts in an output."""
_NOT_READ = frozenset({"additional_tools", "compaction_trigger", "configuration_update", "reasoning"})
"""Items that hardly make an ask longer."""
_LEFT_OUT = "[A picture or a file was left out here.]"


def shortened(items: Sequence[Json], excess: int) -> list[Json]:
    """The items, with as many of the oldest outputs shortened as it takes to save so many characters."""
    sizes = [0 if item.get("type") in _NOT_READ else length(item) for item in items]
    outputs = [index for index, item in enumerate(items) if is_output(item)]
    most = max(min(_SHORT, (sum(sizes) - excess) // (2 * len(outputs) or 1)), 0)
    kept = list(items)
    for index in outputs:
        if excess <= 0:
            break
        if sizes[index] > most:
            kept[index] = _with_short_output(items[index], most)
            excess -= sizes[index] - length(kept[index])
    return kept


def is_output(item: Json) -> bool:
    """Whether this is the output of a call."""
    return str(item.get("type")).endswith("_output")


def _with_short_output(item: Json, most: int) -> Json:
    output = item.get("output")
    if isinstance(output, str):
        return {**item, "output": _cut(output, most)}
    if not isinstance(output, list):
        return item
    parts: list[Json] = []
    for part in output:
        texts = {name: text for name in _TEXTS if isinstance(text := as_object(part).get(name), str)}
        if not texts:
            parts.append({"type": "input_text", "text": _LEFT_OUT})
            continue
        parts.append({**part, **{name: _cut(text, most) for name, text in texts.items()}})
        most -= sum(map(len, texts.values()))
        if most <= 0:
            break
    return {**item, "output": parts}


def _cut(text: str, most: int) -> str:
    """The text, without its middle if it is longer than that."""
    if len(text) <= most:
        return text
    half = max(most, 0) // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters were left out here]\n{text[len(text) - half :]}"
