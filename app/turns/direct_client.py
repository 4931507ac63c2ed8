"""A client that is sent events where they are made, without waking the task that serves it."""

from typing import Protocol

from ..protocol.events import Event


class DirectClient(Protocol):
    """A client to which a transport can write at once."""

    @property
    def is_ready(self) -> bool:
        """Whether it takes more now. Otherwise the events wait for the task that serves it."""
        ...

    def send(self, batch: list[Event]) -> bool:
        """Sends these events, which do not end the turn, unless that takes long: False if they were not sent."""
        ...
