"""What a worker has of its supervisor: its number, the shared table, and its end of the control channel."""

from dataclasses import dataclass, field

from .connection_share import ConnectionShare
from .control_channel import ControlChannel
from .value_segment import ValueName, ValueSegment
from .worker_table import WorkerTable


@dataclass(frozen=True)
class WorkerPart:
    """One worker among others."""

    number: int
    """From 0 on. A worker that replaces another one has its number."""
    table: WorkerTable
    channel: ControlChannel
    seal_key: str
    """Encrypts for all of them, if no key is configured."""
    share: ConnectionShare
    """Its share of new connections."""
    bases: dict[ValueName, float] = field(default_factory=dict)
    """What former workers with its number had counted when it began to count."""

    @property
    def segment(self) -> ValueSegment:
        """Its figures."""
        return self.table.segments[self.number]

    @property
    def count(self) -> int:
        """How many there are."""
        return self.table.count
