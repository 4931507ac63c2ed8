"""Items and parts of a stream that are not done yet, as the grammar follows them."""

from typing import Any

from tests.wire.grammar_tables import (
    Kind,
    Part,
)


class OpenPart:
    """A part that has been added and not done."""

    def __init__(self, part: Part, index: int) -> None:
        self.part = part
        self.index = index
        self.said: list[str] = []
        self.logprobs: list[Any] = []
        self.annotations: list[Any] = []
        self.text: str | None = None


class OpenItem:
    """An item that has been added and not done."""

    def __init__(self, item: dict[str, Any], kind: Kind) -> None:
        self.item = item
        self.kind = kind
        self.part: OpenPart | None = None
        self.parts: dict[str, list[dict[str, Any]]] = {"content": [], "summary": []}
        self.said: list[str] = []
        self.whole: str | None = None
        self.commands: list[str] = []
        self.command: str | None = None
