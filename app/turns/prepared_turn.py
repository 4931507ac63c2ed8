"""A turn that asks no model: its request is checked and translated, and its answer is empty."""

from collections.abc import AsyncIterator, Sequence

from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.warnings import ClientWarning
from ..upstreams.clocks import Clocks
from .direct_client import DirectClient


class PreparedTurn:
    """The answer to a request with `generate: false`. Transports use it as they use a `RunningTurn`."""

    __slots__ = ("_events", "clocks", "size", "warnings")

    problem: Problem | None = None
    late_warnings: Sequence[ClientWarning] = ()

    def __init__(self, events: list[Event], warnings: Sequence[ClientWarning], *, clocks: Clocks, size: int) -> None:
        self._events = events
        self.warnings = warnings
        self.clocks = clocks
        self.size = size
        """Bytes of the request."""

    async def open(self, patience: float) -> None:
        """Nothing to wait for."""

    def send_directly(self, client: DirectClient) -> None:
        """All of it comes in `batches`."""

    async def batches(self) -> AsyncIterator[list[Event]]:
        """All events at once."""
        yield self._events
