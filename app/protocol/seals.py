"""Seals: what a client carries from turn to turn without being able to read or change it."""

from typing import Any, Literal, Protocol

Kind = Literal["reasoning", "compaction"]
"""What is sealed. A seal of one kind never opens as another."""


class Sealer(Protocol):
    """Seals and opens. A stateless server's only memory: the client brings it back."""

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope around this content, in plain characters."""
        ...

    def open(self, kind: Kind, envelope: str) -> dict[str, Any] | None:
        """What this envelope holds. None if it is forged, damaged, too old, or sealed by a key that is not here."""
        ...
