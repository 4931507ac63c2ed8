"""Where a model server is tested over one lane."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.lanes import Lane
from tests.servers.questions import Json, Question, as_request
from tests.servers.said import Said, relayed, relayed_whole, streamed, whole


@dataclass(frozen=True)
class Bench:
    """Where a lane is tested."""

    lane: Lane
    url: str
    """Of this server."""
    server_url: str
    """Of the model server."""
    client: httpx.Client
    folder: Path

    @property
    def model(self) -> str:
        """The name by which this server knows the model over this lane."""
        return self.lane.slug

    def request(self, question: Question) -> Json:
        """A question as a client asks it."""
        return as_request(question, self.model)

    def direct(self, question: Question) -> Said:
        """What the model server says itself."""
        # A new connection, because llama.cpp closes connections that it promises to keep.
        with httpx.Client(timeout=self.client.timeout) as client:
            return self.lane.ask(client, self.server_url, question)

    def streamed(self, request: Json) -> Said:
        """What this server streams. The events of a relay are judged by a behaviour of its own."""
        return (relayed if self.lane.is_relay else streamed)(self.client, self.url, request)

    def whole(self, request: Json) -> Said:
        """What this server says at once."""
        return (relayed_whole if self.lane.is_relay else whole)(self.client, self.url, request)


Check = Callable[[Bench], list[str]]


@dataclass(frozen=True)
class Behaviour:
    """A row of the page."""

    title: str
    about: str
    check: Check
