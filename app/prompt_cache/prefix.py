"""What a cache compares of an ask: tools, system prompt and messages, in this order, and some settings.

Marks for the cache are left out: they move from turn to turn, and are no part of what is cached. A text is the same as
a list of one part with this text.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

Json = dict[str, Any]
Reason = Literal[
    "model_changed",
    "prompt_cache_key_changed",
    "tools_changed",
    "text_format_changed",
    "reasoning_effort_changed",
    "verbosity_changed",
    "context_compacted",
    "input_changed",
    "service_tier_changed",
]
"""Why a cache could not be used, in OpenAI's words."""

SUMMARIZED: Final[Reason] = "context_compacted"
MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Keys of marks."""
_TEXTS: Final = frozenset({"text", "input_text"})


class Setting(NamedTuple):
    """A setting on which the cached prompt depends."""

    name: str
    reason: Reason
    value: Any


class Part(NamedTuple):
    """A part of a prompt."""

    place: str
    """Its path in the ask, such as `messages[7]`."""
    kind: str
    """What it is, in one word, if that is known. It is shown, also in the log."""
    values: tuple[Any, ...]
    """What it holds."""


class Prefix(NamedTuple):
    """What a cache compares."""

    settings: Sequence[Setting] = ()
    tools: Sequence[Part] = ()
    system: Sequence[Part] = ()
    messages: Sequence[Part] = ()


def tool_parts(tools: Any) -> list[Part]:
    """A part for each tool."""
    entries = tools if isinstance(tools, list) else []
    return [Part(f"tools[{index}]", "", (unmarked(tool),)) for index, tool in enumerate(entries)]


def text_parts(place: str, content: Any) -> list[Part]:
    """The parts of a text, or of a list of parts."""
    return [] if content is None else list(_with_content(place, "", {}, content))


def message_parts(place: str, messages: Sequence[Any], kind_of: Callable[[Json], str]) -> list[Part]:
    """A part for each message, and one for each further part of its content."""
    parts: list[Part] = []
    for index, message in enumerate(messages):
        path = f"{place}[{index}]"
        if not isinstance(message, dict):
            parts.append(Part(path, "", (message,)))
            continue
        head = {key: value for key, value in message.items() if key != "content" and key not in MARKS}
        parts += _with_content(path, kind_of(message), head, message.get("content"))
    return parts


def unmarked(value: Any) -> Any:
    """The object without marks, or the text if it is nothing but a text."""
    if not isinstance(value, dict):
        return value
    if not MARKS.isdisjoint(value):
        value = {key: entry for key, entry in value.items() if key not in MARKS}
    if len(value) == len(("type", "text")) and value.get("type") in _TEXTS and isinstance(value.get("text"), str):
        return value["text"]
    return value


def _with_content(place: str, kind: str, head: Json, content: Any) -> Iterator[Part]:
    """What belongs to the whole message is compared with the first part of its content."""
    first, *others = content if isinstance(content, list) and content else [content]
    yield Part(place, kind, (head, unmarked(first)) if head else (unmarked(first),))
    for index, other in enumerate(others, 1):
        yield Part(f"{place}.content[{index}]" if head else f"{place}[{index}]", kind, (unmarked(other),))
