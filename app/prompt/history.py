"""The history of a conversation, in the order that strict servers demand.

Servers want every call of one assistant turn in one message, directly followed by an output for each call, in the
order of the calls. Histories arrive in other orders: calls with messages between them, outputs in any order, left out,
repeated, or separated from their calls.

So consecutive messages, reasoning and calls of the assistant form a block; an output joins its call, wherever the
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

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from ..providers.provider import CallIds, id_for
from ..types.json import Json, encode, is_object
from ..types.problems import Warnings
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

_NO_OUTPUT = "no output recorded"
EMPTY_OUTPUT = "(no output)"
_OUTPUT_BELOW = "(see the next message)"


@dataclass(eq=False, slots=True)
class _PastCall:
    """A call, and the outputs that were found for it."""

    id: str
    """Its id upstream: the client's, unless that is empty or used before."""
    block: "_Block"
    call_id: str
    name: str
    arguments: str
    outputs: dict[Parts, None] = field(default_factory=dict)
    """The keys are the outputs, each once: a client may send one many times."""
    failed: bool = False
    """Whether the tool failed, by the last output."""

    def add(self, output: Parts, *, failed: bool) -> None:
        """One more output."""
        self.outputs[output] = None
        self.failed = failed


@dataclass(eq=False, slots=True)
class _Block:
    """One assistant turn."""

    pieces: list[tuple[AssistantMessage | PastThought | ProviderState | _PastCall, str]] = field(default_factory=list)
    """Each with its path."""
    written: set[tuple[str, str, str]] = field(default_factory=set)
    """Its calls: id, name and arguments."""
    answered: bool = False
    """Whether one of its calls has an output."""


class _Orphan(NamedTuple):
    """An output whose call has not been seen."""

    call_id: str
    output: Parts
    path: str
    failed: bool


class History:
    """Collects a conversation item by item, and makes the entries of a prompt."""

    def __init__(self, call_ids: CallIds, warnings: Warnings) -> None:
        self._call_ids = call_ids
        self._warnings = warnings
        self._entries: list[_Block | _Orphan | System | User] = []
        self._waiting: defaultdict[str, list[_PastCall]] = defaultdict(list)
        """The calls without output, by the client's call id."""
        self._last: dict[str, _PastCall] = {}
        """The last call under each id."""
        self._ids: set[str] = set()
        self._states: dict[str, Json] = {}
        """What the upstream wants back with each call, by the client's call id."""
        self._uses: defaultdict[str, int] = defaultdict(int)
        """How often each id was used."""

    def add(self, entry: System | User) -> None:
        """A message that is not the assistant's."""
        self._entries.append(entry)

    def add_piece(self, piece: AssistantMessage | PastThought | ProviderState, path: str) -> None:
        """A message of the assistant; or reasoning or its state, which belongs to what follows."""
        self._block().pieces.append((piece, path))

    def add_state_of_calls(self, states: dict[str, Json]) -> None:
        """State that the upstream wants back with each of these calls."""
        self._states |= states

    def add_call(self, call_id: str, name: str, arguments: str, path: str) -> None:
        """A call of a tool by the assistant."""
        block = self._block()
        if call_id and (call_id, name, arguments) in block.written:
            self._warnings.append(f"{path} was left out: it repeats a call word for word.")
            return
        call = _PastCall(self._new_id(call_id, path), block, call_id, name, arguments)
        block.pieces.append((call, path))
        block.written.add((call_id, name, arguments))
        self._waiting[call_id].append(call)
        self._last[call_id] = call

    def add_output(self, call_id: str, output: Parts, path: str, *, failed: bool = False) -> None:
        """The output of a call: of the first one without output in the last block that has one under this id."""
        if waiting := self._waiting[call_id]:
            block = waiting[-1].block
            call = next(call for call in waiting if call.block is block)
            waiting.remove(call)
            block.answered = True
            call.add(output, failed=failed)
            if block is not self._entries[-1]:
                self._warnings.append(f"{path} was moved: an output must directly follow its call.")
        elif call_id in self._last:
            self._last[call_id].add(output, failed=failed)
            self._warnings.append(f"{path} was merged with an earlier output of the same call.")
        else:
            self._entries.append(_Orphan(call_id, output, path, failed))

    def entries(self) -> list[Entry]:
        """All entries in order."""
        settled: list[_Block | _Orphan | System | User] = []
        for entry in self._entries:
            if isinstance(entry, _Orphan) and (waiting := self._waiting[entry.call_id]):
                waiting.pop(0).add(entry.output, failed=entry.failed)
                self._warnings.append(f"{entry.path} was moved: it came before its call.")
            else:
                settled.append(entry)
        return [made for entry in settled for made in self._made(entry)]

    def _made(self, entry: "_Block | _Orphan | System | User") -> list[Entry]:
        match entry:
            case _Block() if any(isinstance(piece, AssistantMessage | _PastCall) for piece, _ in entry.pieces):
                return self._turn(entry)
            case _Block():
                for path in dict.fromkeys([path for _, path in entry.pieces]):
                    self._warnings.append(f"{path} was left out: no message and no call follows this reasoning.")
                return []
            case _Orphan():
                self._warnings.append(f"{entry.path} is sent as a message: its call is not in the history.")
                title = f"Output of the tool call '{entry.call_id}', which is not in the history:"
                return [User((Text(f"{title}\n{output_text(entry.output)}"), *media_of(entry.output)))]
            case _:
                return [entry]

    def _turn(self, block: _Block) -> list[Entry]:
        pieces: list[Piece] = []
        outputs: list[Entry] = []
        for piece, path in block.pieces:
            if not isinstance(piece, _PastCall):
                pieces.append(piece)
                continue
            pieces.append(
                Call(piece.id, piece.name, self._object(piece.arguments, path), self._states.get(piece.call_id, {}))
            )
            parts = tuple([part for output in piece.outputs for part in output])
            if not piece.outputs:
                self._warnings.append(f"{path} has no output in the history: the model reads that none was recorded.")
                parts = (Text(_NO_OUTPUT),)
            outputs.append(ToolOutput(piece.id, parts, piece.failed))
        return [Assistant(tuple(pieces)), *outputs]

    def _object(self, arguments: str, path: str) -> str:
        """The arguments as an object: servers refuse any other. Some models write `null` for no parameters."""
        if arguments.strip() in {"", "null"}:
            return "{}"
        if is_object(arguments):
            return arguments
        self._warnings.append(f"{path}.arguments were wrapped: servers refuse what is not a JSON object.")
        return encode({"arguments": arguments}).decode()

    def _block(self) -> _Block:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, _Block) and not last.answered:
            return last
        block = _Block()
        self._entries.append(block)
        return block

    def _new_id(self, call_id: str, path: str) -> str:
        count = self._uses[call_id] + 1
        while (new := id_for(self._call_ids, call_id or "call", count)) in self._ids:
            count += 1
        self._ids.add(new)
        self._uses[call_id] = count
        if call_id and count > 1:
            self._warnings.append(f"{path} was given an id of its own: its call_id was used before.")
        return new


def output_text(parts: Parts) -> str:
    """The text of an output, for servers that take nothing else there. Other parts are sent in a message after it."""
    return text_of(parts) or (_OUTPUT_BELOW if parts else EMPTY_OUTPUT)
