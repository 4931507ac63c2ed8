"""Who else sees turns pass: counters, spans, the inspector. They change nothing, and a turn does not wait for them."""

from collections.abc import Mapping
from typing import Any, Protocol

from app.protocol.events import Event
from app.protocol.problems import Problem
from app.protocol.request import CreateResponse


class Account(Protocol):
    """What a witness writes down of one turn."""

    def asked(self, request: CreateResponse, ask: Any, warnings: list[str]) -> None:
        """The turn is understood: what the client wanted, what its upstream is asked, what could not be said."""
        ...

    def told(self, events: list[Event]) -> None:
        """The client is told this."""
        ...

    def refused(self, problem: Problem) -> None:
        """The client is told this instead of an answer. The log has its code only: its words may be the client's."""
        ...

    def ended(self, fields: Mapping[str, Any]) -> None:
        """It is over; `fields` is what the log says of it. Called once, however it ended."""
        ...


class Witness(Protocol):
    """Somebody who wants an account of every turn."""

    def began(self, fields: Mapping[str, Any]) -> Account:
        """A request came in. So far it has a `request_id`, and what is known of the way it came."""
        ...
