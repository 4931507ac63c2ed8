"""The transcripts, replayed over a relay whose server knows functions only.

That server is played by the chat lane: it gets the request that the relay sends, and its events for the answer of the
transcript, which are those of functions alone, go through the relay. The chat server behind it must be asked the same
as for the client's own request, and the client must be told the same: relay and chat lane have the same bridges.
"""

import re
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.parsing.request_body import parse_object
from app.protocol.events import Event, Relayed
from app.protocol.problems import Problem
from tests.support.emitters import ReadableSealer
from tests.support.transcripts import counted, each_transcript, lines, masked, options_of, replayed, request_of

Json = dict[str, Any]

_ID: Final = re.compile(rb'"([a-z]+)_AM-\d+"')


class RelayedTranscript:
    """A relay of this request, and the chat lane behind it."""

    def __init__(self, folder: Path) -> None:
        options = RelayOptions(ids="keep", functions_only=True)  # what is sealed passes: the server behind opens it
        self._relay = RelayTurn(request_of(folder), model="upstream-model", options=options, **counted())
        self._server = ChatTurn(
            parse_object(dict(self._relay.ask)),
            model="upstream-model",
            options=replace(options_of(folder), sealer=ReadableSealer()),
            **counted(),
        )
        self.ask = self._server.ask

    @property
    def over(self) -> bool:
        """Whether the client has the last event."""
        return self._relay.over

    def begin(self) -> list[Event]:
        """The server's first events."""
        return [*self._relay.begin(), *self._relayed(self._server.begin())]

    def receive(self, payload: Any) -> list[Event]:
        """Those for one chunk."""
        return self._relayed(self._server.receive(payload))

    def keep_alive(self) -> list[Event]:
        """The relay's own."""
        return self._relay.keep_alive()

    def end(self) -> list[Event]:
        """The server's last events."""
        return self._relayed(self._server.end())

    def fail(self, problem: Problem) -> list[Event]:
        """The relay's own: its connection is lost."""
        return self._relay.fail(problem)

    def _relayed(self, events: list[Event]) -> list[Event]:
        made = [msgspec.json.decode(msgspec.json.encode(event)) for event in events]
        return [sent for event in made if not self.over for sent in self._relay.receive(event)]


def told(folder: Path) -> list[Json]:
    """What the client is told, by the relay."""
    events = replayed(RelayedTranscript(folder), lines(folder / "upstream.jsonl"))
    return [msgspec.json.decode(event.data) for event in events if isinstance(event, Relayed)]


def renumbered(events: list[Json]) -> list[Json]:
    """The same events with ids that are numbered as they appear: some are made for what the client does not get."""
    numbers: dict[bytes, bytes] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return numbers.setdefault(found[0], b'"%b_%d"' % (found[1], len(numbers)))

    result: list[Json] = msgspec.json.decode(_ID.sub(number, msgspec.json.encode(events)))
    return result


def without_strict(ask: Json) -> Json:
    """The ask, without what servers of functions are told of every function."""
    for tool in ask.get("tools", []):
        if tool["function"].get("strict") is False:
            del tool["function"]["strict"]
    return ask


@each_transcript
def test_the_chat_server_is_asked_the_same(folder: Path) -> None:
    expected = msgspec.json.decode((folder / "ask.json").read_bytes())
    assert without_strict(RelayedTranscript(folder).ask) == without_strict(expected)


ESTIMATED: Final = "The tokens of the input are estimated from the body, in which `strict` is longer."
OTHERWISE: Final = {
    "codex-code-mode": ({"effort"}, "The response repeats the effort that its server was asked for."),
    "shell-cut": ({"input_tokens", "total_tokens"}, ESTIMATED),
}
"""Transcripts of which some fields have other values, and why."""
WITHOUT_INPUT: Final = "custom-call-without-input"
"""A server of functions says `{}` where the model wrote nothing, and that is then the input."""


@each_transcript
def test_the_client_is_told_the_same(folder: Path) -> None:
    if folder.name == WITHOUT_INPUT:
        assert told(folder)[-1]["response"]["output"][0]["input"] == "{}"
        return
    events, expected = renumbered(told(folder)), renumbered(lines(folder / "events.jsonl"))
    fields, _ = OTHERWISE.get(folder.name, (set(), ""))
    assert (events != expected) is bool(fields)
    assert masked(events, fields) == masked(expected, fields)
