"""What a model has written in one message, as pieces of a prompt: so that it can be asked to go on from there."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec

from ..emitter.deltas import (
    CallArguments,
    CallOpened,
    Delta,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    TextDelta,
)
from ..json_text import is_json_object
from ..prompt.nouns import Assistant, AssistantMessage, Call, Entry, PastThought, Piece, ProviderState, Text
from ..prompt.sealed_state import StateForm

_LENGTH = 9
"""Characters of an id that every server takes."""


class RecordedCall:
    """A call of the message."""

    def __init__(self, opened: CallOpened, call_id: str) -> None:
        self.id = call_id
        self.name = opened.name
        self.arguments: list[str] = []
        self.state = dict(opened.provider_state)

    def piece(self) -> Call:
        """The call as a piece of a prompt. Arguments that are no JSON object are left out."""
        text = "".join(self.arguments)
        return Call(self.id, self.name, text if is_json_object(text) else "{}", self.state)

    def read(self) -> dict[str, Any]:
        """The arguments; empty if they are no JSON object."""
        try:
            read = msgspec.json.decode("".join(self.arguments) or "{}")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
        return read if isinstance(read, dict) else {}


def make_distinct(calls: Iterable[RecordedCall], entries: Iterable[Entry], prefix: str) -> None:
    """Gives calls another id whose own is in these entries: some servers number the calls of each message from zero."""
    pieces = (piece for entry in entries if isinstance(entry, Assistant) for piece in entry.pieces)
    ids = {piece.id for piece in pieces if isinstance(piece, Call)}
    others = (f"{prefix}{number:0{_LENGTH - len(prefix)}d}" for number in count())
    for call in calls:
        if call.id in ids:
            call.id = next(other for other in others if other not in ids)
        ids.add(call.id)


class MessageRecord:
    """Texts, thoughts, provider state and calls of one message, in their order."""

    def __init__(self, form: StateForm) -> None:
        self._form = form
        self._pieces: list[Piece | RecordedCall] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._states: list[dict[str, Any]] = []
        self.calls: dict[int, RecordedCall] = {}
        """By the keys of their deltas."""

    def take(self, delta: Delta) -> None:
        """Records what this delta adds, unless it opens a call."""
        match delta:
            case TextDelta():
                if self._thoughts or (self._states and not self._texts):
                    self._end_piece()
                self._texts.append(delta.text)
            case RefusalTextDelta():
                self._texts.append(delta.text)
            case ReasoningDelta():
                if self._texts:
                    self._end_piece()
                self._thoughts.append(delta.text)
            case ProviderStateAdded(key=None):
                self._states.append(delta.fields)
            case ProviderStateAdded() if delta.key in self.calls:
                self.calls[delta.key].state |= delta.fields
            case CallArguments() if delta.key in self.calls:
                self.calls[delta.key].arguments.append(delta.text)
            case _:
                pass

    def open_call(self, opened: CallOpened, call_id: str) -> None:
        """Records a call, under this id."""
        self._end_piece()
        call = RecordedCall(opened, call_id)
        self.calls[opened.key] = call
        self._pieces.append(call)

    def pieces(self) -> tuple[Piece, ...]:
        """All of it. The message has ended."""
        self._end_piece()
        return tuple(piece.piece() if isinstance(piece, RecordedCall) else piece for piece in self._pieces)

    def _end_piece(self) -> None:
        """Ends the text or the thought, with the state that came with it or after it."""
        if (text := "".join(self._texts)).strip():
            self._pieces.append(AssistantMessage((Text(text),)))
        if self._thoughts:
            self._pieces.append(PastThought("".join(self._thoughts), continued=True))
        if self._states:
            self._pieces.append(ProviderState(self._form.joined(self._states)))
        self._texts, self._thoughts, self._states = [], [], []
