"""What a turn needs of its client."""

from collections.abc import Sequence
from typing import Protocol

from ..types.events import Event
from ..types.problems import Problem, Warning


class Client(Protocol):
    """Whoever waits for a response: how events reach it."""

    streams: bool
    """Whether it gets events as they come, and signs of life."""

    async def start(self, warnings: Sequence[Warning], upstream: str) -> None:
        """Begin the answer: warnings that are known now, and the name of the upstream, if one has answered."""
        ...

    def encode(self, events: Sequence[Event], warnings: Sequence[Warning] = ()) -> bytes:
        """These events as they are sent, with these warnings in the last of them."""
        ...

    async def send(self, data: bytes) -> None:
        """Send: it waits, and then writes all or nothing."""
        ...

    async def finish(self, data: bytes, warnings: Sequence[Warning]) -> None:
        """Send the last bytes of a stream, or the whole answer: warnings that were not known before."""
        ...

    async def refuse(self, problem: Problem) -> None:
        """Send a problem instead of an answer."""
        ...

    async def left(self) -> None:
        """Return when the client has left."""
        ...
