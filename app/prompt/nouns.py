"""The nouns of a conversation in no dialect. They are frozen; dialects turn them into what an upstream understands."""

from typing import Any

import msgspec

from app.protocol.warnings import ClientWarning


class Text(msgspec.Struct, frozen=True, gc=False):
    """Text, whoever wrote it."""

    text: str


class Image(msgspec.Struct, frozen=True, gc=False):
    """A picture: a data URI or an address that may be fetched."""

    url: str
    detail: str | None = None
    """How closely to look at it, in the client's word."""


class File(msgspec.Struct, frozen=True, gc=False):
    """A file."""

    name: str
    data: str
    """A data URI."""


class Audio(msgspec.Struct, frozen=True, gc=False):
    """A recording, in base64."""

    data: str
    format: str


Part = Text | Image | File | Audio
Parts = tuple[Part, ...]


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """What the assistant said instead of an answer."""

    text: str


class Message(msgspec.Struct, frozen=True):
    """What the assistant said at once."""

    parts: tuple[Text | Refusal, ...]


class Thought(msgspec.Struct, frozen=True, gc=False):
    """What the assistant thought."""

    text: str
    continued: bool
    """It is to the letter what the model that is asked thought, and goes on where its last thought broke off."""


class ProviderState(msgspec.Struct, frozen=True):
    """What the upstream gave to be brought back with the assistant's words."""

    fields: dict[str, Any]


class Call(msgspec.Struct, frozen=True):
    """A call that the assistant made."""

    id: str
    """Its id as the upstream takes it; no two calls of a prompt share one."""
    name: str
    arguments: str
    """A JSON object, byte for byte as the model wrote it."""
    state: dict[str, Any]
    """What the upstream gave to be brought back with this call."""


class OpenedState(msgspec.Struct, frozen=True):
    """What was sealed in a reasoning item."""

    text: str
    """The thought in the words in which the model wrote it."""
    own: bool
    """Whether the upstream that is asked thought it. If not, only the text can be sent."""
    fields: dict[str, Any]
    """What belongs to the assistant's words."""
    calls: dict[str, dict[str, Any]]
    """What belongs to its calls, by their ids as the client knows them."""


Piece = Message | Thought | ProviderState | Call


class System(msgspec.Struct, frozen=True, gc=False):
    """What the developer tells the model."""

    text: str


class User(msgspec.Struct, frozen=True):
    """What the user says or shows."""

    parts: Parts


class Assistant(msgspec.Struct, frozen=True):
    """What the assistant said, thought and called, in this order. The outputs of its calls follow, in theirs."""

    pieces: tuple[Piece, ...]


class ToolOutput(msgspec.Struct, frozen=True):
    """What a call gave: right behind the assistant's entry that holds the call."""

    call_id: str
    parts: Parts
    """Empty where the tool said nothing."""


Entry = System | User | Assistant | ToolOutput


class Conversation(msgspec.Struct, frozen=True):
    """What was said and done up to now. Never empty; every call has its output."""

    entries: list[Entry]
    warnings: list[ClientWarning]


def text_of(parts: Parts) -> str:
    """The text of these parts, one line behind the other."""
    return "\n".join([part.text for part in parts if isinstance(part, Text)])


def media_of(parts: Parts) -> Parts:
    """What of these parts is no text."""
    return tuple([part for part in parts if not isinstance(part, Text)])
