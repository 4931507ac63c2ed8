"""How much a request may hold, and the refusal of one that holds more."""

from collections.abc import Sized
from typing import Final, NamedTuple, TypeVar

from ..protocol.problems import refuse

MAX_ITEMS: Final = 16_384
MAX_PARTS: Final = 32_768
"""Entries of all lists inside items: content parts, thoughts, commands, outputs, tools."""
MAX_TOOLS: Final = 1_024
MAX_JSON_VALUES: Final = 250_000
"""A value of two bytes becomes an object of a hundred bytes. The most items, parts and tools need fewer values."""
MAX_ENTRIES: Final = 100
"""Of a list of options, such as `include`."""
MAX_PAIRS: Final = 16
"""Of `metadata`, as OpenAI has it."""
MAX_DEPTH: Final = 128
"""Levels of nesting. Enough for any schema, and far fewer than encoders can write."""

AnyList = TypeVar("AnyList", bound=Sized)


class Bounds(NamedTuple):
    """How much a request may hold."""

    max_items: int = MAX_ITEMS
    max_parts: int = MAX_PARTS
    max_tools: int = MAX_TOOLS
    max_json_values: int = MAX_JSON_VALUES


BOUNDS: Final = Bounds()


def within(raw: AnyList, limit: int, path: str, setting: str = "") -> AnyList:
    """The list, which must have at most `limit` entries."""
    if len(raw) <= limit:
        return raw
    message = f"Invalid value for '{path}': it contains {len(raw)} entries, and at most {limit} are allowed"
    message += f"{by_setting(setting)}." if setting else "."
    raise refuse("invalid_value", message, path)


def by_setting(setting: str) -> str:
    """The words that name the setting of this server that sets a limit."""
    return f" (the server's setting '{setting}')"


def too_many_values(where: str, most: int) -> str:
    """The message for JSON that holds more values than are allowed."""
    limit = f"{most} JSON values that are allowed{by_setting('max_json_values')}"
    return f"Invalid value for '{where}': it contains more than the {limit}."
