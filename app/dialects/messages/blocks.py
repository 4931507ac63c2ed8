"""The content blocks of an answer, and what of them the server wants back."""

from typing import Any

from ...prompt.state import StateForm, merged
from ...types.json import Json, as_object, as_text, decode, objects

BLOCKS = "blocks"
"""The field of provider state that holds blocks: thoughts with their signatures, and searches. Each is sealed in a
reasoning item of its own, in its place between texts and calls."""
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks of reasoning."""
_PARTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("input", "partial_json"),
}
"""By the type of a delta: the field of the block that grows, and that of the delta."""


class Block:
    """A block while it streams, or whole."""

    def __init__(self, content: Json, key: int = 0) -> None:
        self.type = str(content.get("type"))
        self.given = content
        """As it began: most servers send it empty, some whole."""
        self.key = key
        """Which block of the answer it is."""
        self._pieces: dict[str, list[str]] = {}
        given = content.get("citations")
        self.citations: list[Any] = list(given) if isinstance(given, list) else []

    def add(self, delta: Json) -> str:
        """Keeps this delta; its text."""
        field, source = _PARTS.get(str(delta.get("type")), ("", ""))
        text = delta.get(source)
        if isinstance(text, str):
            self._pieces.setdefault(field, []).append(text)
            return text
        if delta.get("type") == "citations_delta":
            self.citations.append(delta.get("citation"))
        return ""

    def text(self, field: str) -> str:
        """The whole text in a field."""
        return "".join([as_text(self.given.get(field)), *self._pieces.get(field, ())])

    @property
    def input(self) -> Json:
        """The arguments of a call."""
        written = decode("".join(self._pieces.get("input", ())) or "{}")
        return as_object(written) or as_object(self.given.get("input"))

    @property
    def whole(self) -> Json:
        """The block as it is sent back."""
        signed = ("thinking", "signature") if self.type == "thinking" else ()
        grown: Json = {name: self.text(name) for name in (*signed, *self._pieces)}
        if "input" in self.given:
            grown["input"] = self.input
        if self.citations:
            grown["citations"] = self.citations
        return {**self.given, **grown}


def index_of(event: Json) -> int:
    """Which block an event is about."""
    index = event.get("index")
    return index if type(index) is int else 0


def blocks_of(fields: Json) -> list[Json]:
    """The blocks in this state."""
    return objects(fields.get(BLOCKS))


def _words_of(fields: Json) -> str:
    return "".join([str(block.get("thinking", "")) for block in blocks_of(fields)])


FORM = StateForm(merged, _words_of)
"""How this dialect writes provider state."""
