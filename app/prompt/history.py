"""The history of a conversation, in the order that strict servers demand.

Theory of operation
-------------------
Servers want every call of one assistant turn in one message, directly followed by an output for each call, in the
order of the calls. Histories arrive in other orders: calls with messages between them, outputs in any order, left out,
repeated, or separated from their calls.

So consecutive messages, reasoning and calls of the assistant form a **block**; an output joins its call, wherever the
call is; and a block becomes one assistant entry, followed by its outputs. A block ends at a message of another role,
or where the assistant continues after an output of one of the block's calls.

    what arrives                              what is sent
    output whose call is elsewhere before     joins its call (with a warning, if other entries are in between)
    output whose call comes only later        joins its call, with a warning
    output without any call                   user text that names the call, with a warning
    second output for a call                  joins the first, with a warning
    call without output                       "no output recorded", with a warning
    call repeated word for word               sent once, with a warning
    another call under a used call id         gets an id of its own, its output too, with a warning
    arguments that are no JSON object         wrapped in one, with a warning; empty ones and null are {}
    reasoning without messages or calls       left out, with a warning
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ..bridges.base import PastCall
from ..json_text import is_json_object
from ..options import CallIds
from ..protocol.response import InputTransformation
from ..protocol.warnings import ClientWarning
from .call_ids import id_for
from .nouns import (
    Assistant,
    AssistantMessage,
    Call,
    Entry,
    Parts,
    PastThought,
    Piece,
    ProviderState,
    System,
    Text,
    ToolOutput,
    User,
    media_of,
    text_of,
)

NO_OUTPUT: Final = "no output recorded"
EMPTY_OUTPUT: Final = "(no output)"
OUTPUT_BELOW: Final = "(see the next message)"


@dataclass(eq=False, slots=True)
class _CallWithOutputs:
    """A call, and the outputs that were found for it."""

    id: str
    """Its id upstream: the client's, unless that is empty or used before."""
    call: PastCall
    path: str
    outputs: dict[Parts, None] = field(default_factory=dict)
    """The keys are the outputs, each once: a client may send one many times."""
    failed: bool = False
    """Whether the tool failed, by the last output."""

    def add_output(self, output: Parts, *, failed: bool) -> None:
        """One more output."""
        self.outputs[output] = None
        self.failed = failed


@dataclass(eq=False, slots=True)
class _Block:
    """One assistant turn."""

    path: str
    pieces: list[AssistantMessage | PastThought | ProviderState | _CallWithOutputs] = field(default_factory=list)
    calls: set[PastCall] = field(default_factory=set)
    has_content: bool = False
    """Whether it holds a message or a call."""
    reasoning: dict[str, None] = field(default_factory=dict)
    """The paths of its reasoning."""
    answered: bool = False
    """Whether one of its calls has an output."""


class _Waiting:
    """The calls under one id that have no output yet, block by block. Nothing is searched: histories are long."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[_Block, deque[_CallWithOutputs]]] = deque()

    def add(self, block: _Block, call: _CallWithOutputs) -> None:
        if not self._blocks or self._blocks[-1][0] is not block:
            self._blocks.append((block, deque()))
        self._blocks[-1][1].append(call)

    def take(self, index: Literal[0, -1]) -> tuple[_Block, _CallWithOutputs] | None:
        """The first call of the last block (-1), or of the first (0) for an output that came before its call."""
        if not self._blocks:
            return None
        block, calls = self._blocks[index]
        call = calls.popleft()
        if not calls:
            del self._blocks[index]
        return block, call


@dataclass(eq=False, slots=True)
class _Orphan:
    """An output whose call has not been seen."""

    call_id: str
    output: Parts
    path: str
    failed: bool


class Conversation(NamedTuple):
    """The entries of a prompt, and what was changed to make them."""

    entries: list[Entry]
    warnings: list[ClientWarning]
    removed: Sequence[InputTransformation] = ()
    """Items of the input that are not among the entries."""
    unfollowed: Sequence[str] = ()
    """The paths of reasoning that was left out because nothing follows it."""


class History:
    """Collects a conversation item by item, and makes the entries of a prompt."""

    def __init__(self, call_ids: CallIds) -> None:
        self._call_ids = call_ids
        self._entries: list[_Block | _Orphan | System | User] = []
        self._waiting: defaultdict[str, _Waiting] = defaultdict(_Waiting)
        """By the client's call id."""
        self._last: dict[str, _CallWithOutputs] = {}
        """The last call under each id."""
        self._ids: set[str] = set()
        self._state_of_calls: dict[str, dict[str, Any]] = {}
        """The state that the upstream wants back with each call, by the client's call id."""
        self._uses: defaultdict[str, int] = defaultdict(int)
        """How often each id was used."""

    def add(self, entry: System | User) -> None:
        """A message that is not the assistant's."""
        self._entries.append(entry)

    def add_message(self, message: AssistantMessage, path: str) -> None:
        """A message of the assistant."""
        block = self._block(path)
        block.pieces.append(message)
        block.has_content = True

    def add_reasoning(self, piece: PastThought | ProviderState, path: str) -> None:
        """Reasoning or its state, which belongs to the messages and calls that follow."""
        block = self._block(path)
        block.pieces.append(piece)
        block.reasoning[path] = None

    def add_state_of_calls(self, states: dict[str, dict[str, Any]]) -> None:
        """State that the upstream wants back with each of these calls."""
        self._state_of_calls |= states

    def add_call(self, call: PastCall, path: str) -> list[ClientWarning]:
        """A call of a tool by the assistant."""
        block = self._block(path)
        if call.call_id and call in block.calls:
            details = f"{path} was left out: it repeats a call word for word."
            return [ClientWarning(path, "repeated call", details)]
        new_id, warnings = self._id_for(call.call_id, path)
        past = _CallWithOutputs(new_id, call, path)
        block.pieces.append(past)
        block.has_content = True
        block.calls.add(call)
        self._waiting[call.call_id].add(block, past)
        self._last[call.call_id] = past
        return warnings

    def add_output(self, call_id: str, output: Parts, path: str, *, failed: bool = False) -> list[ClientWarning]:
        """The output of a call."""
        waiting = self._waiting[call_id].take(-1)
        if waiting is not None:
            block, call = waiting
            block.answered = True
            call.add_output(output, failed=failed)
            if block is self._entries[-1]:
                return []
            details = f"{path} was moved: an output must directly follow its call."
            return [ClientWarning(path, "output order", details)]
        if call_id in self._last:
            self._last[call_id].add_output(output, failed=failed)
            details = f"{path} was merged with an earlier output of the same call."
            return [ClientWarning(path, "second output", details)]
        self._entries.append(_Orphan(call_id, output, path, failed))
        return []

    def conversation(self) -> Conversation:
        """All entries in order, and the warnings about changes that the whole history made necessary."""
        warnings: list[ClientWarning] = []
        settled: list[_Block | _Orphan | System | User] = []
        for entry in self._entries:
            if isinstance(entry, _Orphan) and (waiting := self._waiting[entry.call_id].take(0)) is not None:
                waiting[1].add_output(entry.output, failed=entry.failed)
                details = f"{entry.path} was moved: it came before its call."
                warnings.append(ClientWarning(entry.path, "output order", details))
            else:
                settled.append(entry)
        entries: list[Entry] = []
        unfollowed: list[str] = []
        for entry in settled:
            match entry:
                case _Block(has_content=False):
                    unfollowed += entry.reasoning
                    warnings += [_unfollowed(path) for path in entry.reasoning]
                case _Block():
                    ended, changed = self._ended(entry)
                    entries += ended
                    warnings += changed
                case _Orphan():
                    details = f"{entry.path} is sent as a message: its call is not in the history."
                    warnings.append(ClientWarning(entry.path, "output without call", details))
                    entries.append(_as_user(entry))
                case _:
                    entries.append(entry)
        return Conversation(entries, warnings, unfollowed=unfollowed)

    def _block(self, path: str) -> _Block:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, _Block) and not last.answered:
            return last
        block = _Block(path)
        self._entries.append(block)
        return block

    def _id_for(self, call_id: str, path: str) -> tuple[str, list[ClientWarning]]:
        count = self._uses[call_id] + 1
        while (new := id_for(call_id or "call", self._call_ids, count)) in self._ids:
            count += 1
        self._ids.add(new)
        self._uses[call_id] = count
        if not call_id or count == 1:
            return new, []
        details = f"{path} was given an id of its own: its call_id was used before."
        return new, [ClientWarning(path, "call id", details)]

    def _ended(self, block: _Block) -> tuple[list[Entry], list[ClientWarning]]:
        """The entries of this block."""
        warnings: list[ClientWarning] = []
        missing: list[ClientWarning] = []
        pieces: list[Piece] = []
        outputs: list[Entry] = []
        for piece in block.pieces:
            if not isinstance(piece, _CallWithOutputs):
                pieces.append(piece)
                continue
            arguments, changed = arguments_as_object(piece.call.arguments, piece.path)
            warnings += [changed] if changed else []
            pieces.append(Call(piece.id, piece.call.name, arguments, self._state_of_calls.get(piece.call.call_id, {})))
            parts = tuple([part for output in piece.outputs for part in output])
            if not piece.outputs:
                details = f"{piece.path} has no output in the history: the model reads that none was recorded."
                missing.append(ClientWarning(piece.path, "missing output", details))
                parts = (Text(NO_OUTPUT),)
            outputs.append(ToolOutput(piece.id, parts, piece.failed))
        return [Assistant(tuple(pieces)), *outputs], warnings + missing


def arguments_as_object(arguments: str, path: str) -> tuple[str, ClientWarning | None]:
    """The arguments of the call at this path, as an object: servers refuse any other."""
    if arguments.strip() in {"", "null"}:  # some models write `null` for a tool without parameters
        return "{}", None
    if is_json_object(arguments):
        return arguments, None
    details = f"{path}.arguments were wrapped: servers refuse what is not a JSON object."
    wrapped = msgspec.json.encode({"arguments": arguments}).decode()
    return wrapped, ClientWarning(f"{path}.arguments", "arguments", details)


def _unfollowed(path: str) -> ClientWarning:
    details = f"{path} was left out: no message and no call follows this reasoning."
    return ClientWarning(path, "reasoning", details)


def _as_user(orphan: _Orphan) -> User:
    title = f"Output of the tool call '{orphan.call_id}', which is not in the history:"
    media = media_of(orphan.output)
    text = text_of(orphan.output) or (OUTPUT_BELOW if media else EMPTY_OUTPUT)
    return User((Text(f"{title}\n{text}"), *media))
