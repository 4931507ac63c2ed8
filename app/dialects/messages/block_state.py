"""Provider state of the Messages API: the blocks that the server must get back, in their order, byte for byte.

Each is sealed in a reasoning item of its own, in its place between texts and calls: reasoning with its signature, and
redacted reasoning.
"""

from typing import Any, Final

from ...prompt.sealed_state import StateForm, merged

Json = dict[str, Any]

BLOCKS: Final = "blocks"
"""The field of provider state that holds the blocks."""
THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks of reasoning."""


def blocks_of(fields: Json) -> list[Json]:
    """The blocks in this state."""
    blocks = fields.get(BLOCKS)
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def words_of(fields: Json) -> str:
    """The reasoning text in this state, so that it need not be sealed twice."""
    return "".join([str(block.get("thinking", "")) for block in blocks_of(fields)])


FORM: Final = StateForm(merged, words_of)
"""How this dialect writes provider state."""
