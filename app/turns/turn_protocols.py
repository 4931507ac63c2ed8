"""What the pump needs of a turn: what makes the events before an upstream answers, and what reads the answer."""

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, Protocol

from ..emitter.rules import StopReason
from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.response import NOTHING_SENT, Sent
from ..upstreams.clocks import Clocks


class Sender(Protocol):
    """What makes events for the client."""

    @property
    def over(self) -> bool:
        """Whether the last event has been made."""
        ...

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        ...

    def keep_alive(self) -> list[Event]:
        """An event that shows the client that the turn still runs."""
        ...

    def fail(self, problem: Problem) -> list[Event]:
        """Ends the turn with this problem."""
        ...

    def stop(self, reason: StopReason) -> list[Event]:
        """Ends the turn because its client wants that."""
        ...

    def next_number(self) -> int:
        """The number of an event that is made elsewhere, and sent before all that follow."""
        ...


class Opening(Sender, Protocol):
    """What the client is sent until an upstream answers."""

    def begin(self) -> list[Event]:
        """The first events."""
        ...

    def hand_over(self) -> Sent:
        """What was sent, for the turn that continues the response."""
        ...


class Turn(Sender, Protocol):
    """What reads the answer of an upstream, in any dialect."""

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:
        """The first events, except those that an `Opening` made."""
        ...

    def receive(self, payload: Any) -> list[Event]:
        """The events for one payload."""
        ...

    def end(self) -> list[Event]:
        """The last events, after the upstream closed its stream."""
        ...


class Answer(NamedTuple):
    """The beginning of an upstream's answer."""

    turn: Turn
    """What reads it."""
    clocks: Clocks
    """Those of the upstream."""
    payload: Any
    """The first payload."""
    payloads: AsyncGenerator[Any]
    """The rest."""
