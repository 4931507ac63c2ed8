"""What the record of a turn needs of the ring buffer that keeps it."""

from typing import Protocol, TypeVar

from .conversations import Conversations
from .kept_notes import Kept
from .shared_parts import SharedParts

TurnT_contra = TypeVar("TurnT_contra", contravariant=True)


class Ring(Protocol[TurnT_contra]):
    """Where the turns are kept."""

    def publish(self, turn: TurnT_contra, note: Kept, size: int) -> bool:
        """Keeps a note of a turn, which takes so many bytes. False if the turn is not kept."""
        ...

    def counted(self, turn: TurnT_contra, size: int) -> bool:
        """Counts bytes that a turn keeps beside its notes. False if the turn is not kept."""
        ...

    def changed(self, turn: TurnT_contra) -> None:
        """Called when the row of a turn is another one."""
        ...

    def parts_of(self, owner: str) -> SharedParts:
        """The parts of this owner."""
        ...

    def conversations_of(self, owner: str) -> Conversations:
        """The sessions of this owner."""
        ...
