"""What was said and done, in the order that strict chat servers demand.

Theory of operation
-------------------
Chat servers want every call of one assistant turn in one message, an output for each right behind it, in the order of
the calls, and nothing in between. Histories arrive otherwise: calls with messages between them, outputs in any order,
trimmed, doubled, or split from their calls.

So consecutive assistant words, thoughts and calls gather in a **block**; an output is laid beside its call, wherever
the call stands; and a block is told as one assistant message with its outputs behind it. A block ends where somebody
else speaks, or where the assistant goes on after an output to one of the block's calls.

    what arrives                              what becomes of it
    output whose call is elsewhere before     joins its call (warned of, if anything was said in between)
    output whose call comes only later        joins its call, warned of
    output without any call                   user text that names the call, warned of
    second output for a call                  joins the first, warned of
    call without output                       «no output recorded», warned of
    call repeated word for word               told once, warned of
    another call under a used call id         gets an id of its own, its output too, warned of
    arguments that are no JSON object         wrapped in one, warned of; none at all and null are {}
    images and files in outputs               a user message behind the outputs
    thoughts without words or calls           left out, warned of
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from app.bridges.base import RetoldCall
from app.dialects.chat.call_ids import id_for
from app.dialects.chat.chat_options import CallIds
from app.dialects.chat.content_parts import ChatPart, joined
from app.dialects.chat.provider_state import Fields, laid_together
from app.protocol.json_bytes import is_json_object

ChatMessage = dict[str, Any]

NO_OUTPUT: Final = "no output recorded"
EMPTY_OUTPUT: Final = "(no output)"
OUTPUT_BELOW: Final = "(see the next message)"


@dataclass(eq=False)
class _Call:
    id: str
    """Its id upstream: the client's, unless that is empty or used before."""
    told: RetoldCall
    path: str
    outputs: list[list[ChatPart]] = field(default_factory=list)
    heard: set[bytes] = field(default_factory=set)
    """The same outputs, written out: a client may send one many times."""

    def take(self, output: list[ChatPart]) -> None:
        """One more output, unless it is already there."""
        written = msgspec.json.encode(output)
        if written not in self.heard:
            self.heard.add(written)
            self.outputs.append(output)


@dataclass(eq=False)
class _Block:
    """One assistant turn."""

    path: str
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    """Pieces of text, with what stands between them: they are joined once, however many there are."""
    kept: list[Fields] = field(default_factory=list)
    """What the upstream gave to be brought back with it."""
    calls: list[_Call] = field(default_factory=list)
    told: set[RetoldCall] = field(default_factory=set)
    answered: bool = False
    """Whether one of its calls has an output."""


class _Waiting:
    """The calls under one id that have no output yet, block by block. Nothing is searched: histories are long."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[_Block, deque[_Call]]] = deque()

    def add(self, block: _Block, call: _Call) -> None:
        if not self._blocks or self._blocks[-1][0] is not block:
            self._blocks.append((block, deque()))
        self._blocks[-1][1].append(call)

    def latest(self) -> tuple[_Block, _Call] | None:
        """The first call of the last block: what an output most likely answers."""
        return self._take(-1)

    def earliest(self) -> tuple[_Block, _Call] | None:
        """The first of all: what an output that came too early most likely answers."""
        return self._take(0)

    def _take(self, end: int) -> tuple[_Block, _Call] | None:
        if not self._blocks:
            return None
        block, calls = self._blocks[end]
        call = calls.popleft()
        if not calls:
            del self._blocks[end]
        return block, call


@dataclass(eq=False)
class _Orphan:
    """An output whose call has not been seen."""

    call_id: str
    output: list[ChatPart]
    path: str


class History:
    """Takes what was said and done, item by item; gives chat messages."""

    def __init__(self, *, give_back_reasoning: bool, call_ids: CallIds, warnings: list[str]) -> None:
        self._give_back_reasoning = give_back_reasoning
        self._call_ids = call_ids
        self._warnings = warnings
        self._entries: list[_Block | _Orphan | ChatMessage] = []
        self._waiting: defaultdict[str, _Waiting] = defaultdict(_Waiting)
        """By the client's call id."""
        self._last: dict[str, _Call] = {}
        """The last call under each id."""
        self._ids: set[str] = set()
        self._kept_of_calls: dict[str, Fields] = {}
        """What the upstream gave to be brought back with each call, by the client's call id."""
        self._uses: defaultdict[str, int] = defaultdict(int)
        """How often each id was given."""

    def hear(self, role: str, parts: list[ChatPart]) -> None:
        """Somebody other than the assistant speaks. Text alone is told as a string: some servers read nothing else."""
        text_only = all(part["type"] == "text" for part in parts)
        self._entries.append({"role": role, "content": joined(parts) if text_only else parts})

    def say(self, text: str, path: str) -> None:
        """The assistant spoke."""
        self._block(path).texts.append(text)

    def think(self, text: str, path: str) -> None:
        """The assistant thought; it belongs to the words and calls that follow."""
        thoughts = self._block(path).thoughts
        thoughts += ["\n\n", text] if thoughts else [text]

    def remember(self, text: str, fields: Fields, calls: dict[str, Fields], path: str) -> None:
        """The assistant thought, and this upstream gave something to be brought back with its message and its calls.

        Thoughts go on here where they were broken off: the text is the model's own, to the letter.
        """
        if text or fields:
            block = self._block(path)
            block.thoughts += [text] if text else []
            block.kept.append(fields)
        self._kept_of_calls |= calls

    def call(self, told: RetoldCall, path: str) -> None:
        """The assistant called a tool."""
        block = self._block(path)
        if told.call_id and told in block.told:
            self._warnings.append(f"{path} was left out: it repeats a call word for word.")
            return
        call = _Call(self._id_for(told.call_id, path), told, path)
        block.calls.append(call)
        block.told.add(told)
        self._waiting[told.call_id].add(block, call)
        self._last[told.call_id] = call

    def answer(self, call_id: str, output: list[ChatPart], path: str) -> None:
        """A tool gave its output."""
        waiting = self._waiting[call_id].latest()
        if waiting is not None:
            block, call = waiting
            if block is not self._entries[-1]:
                self._warnings.append(f"{path} was moved: an output must stand right behind its call.")
            block.answered = True
            call.take(output)
        elif call_id in self._last:
            self._warnings.append(f"{path} was merged with an earlier output of the same call.")
            self._last[call_id].take(output)
        else:
            self._entries.append(_Orphan(call_id, output, path))

    def messages(self) -> list[ChatMessage]:
        """Everything, in order."""
        messages: list[ChatMessage] = []
        for entry in self._settle():
            match entry:
                case _Block():
                    messages += self._tell_block(entry)
                case _Orphan():
                    messages.append(self._tell_orphan(entry))
                case _:
                    messages.append(entry)
        return messages

    def _block(self, path: str) -> _Block:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, _Block) and not last.answered:
            return last
        block = _Block(path)
        self._entries.append(block)
        return block

    def _id_for(self, call_id: str, path: str) -> str:
        count = self._uses[call_id] + 1
        while (new := id_for(call_id or "call", self._call_ids, count)) in self._ids:
            count += 1
        self._ids.add(new)
        self._uses[call_id] = count
        if call_id and count > 1:
            self._warnings.append(f"{path} was given an id of its own: its call_id was used before.")
        return new

    def _settle(self) -> list[_Block | _Orphan | ChatMessage]:
        """All entries but the orphans whose call came later after all."""
        settled: list[_Block | _Orphan | ChatMessage] = []
        for entry in self._entries:
            waiting = None
            if isinstance(entry, _Orphan):
                waiting = self._waiting[entry.call_id].earliest()
            if waiting is None or not isinstance(entry, _Orphan):
                settled.append(entry)
                continue
            waiting[1].take(entry.output)
            self._warnings.append(f"{entry.path} was moved: it stood before its call.")
        return settled

    def _tell_block(self, block: _Block) -> list[ChatMessage]:
        if not block.texts and not block.calls:
            self._warnings.append(f"{block.path} was left out: no words and no call follow this reasoning.")
            return []
        message: ChatMessage = {"role": "assistant", "content": "\n\n".join(block.texts) or None}
        if block.thoughts and self._give_back_reasoning:
            message["reasoning_content"] = "".join(block.thoughts)
        if self._give_back_reasoning:
            message |= laid_together(block.kept)
        if not block.calls:
            return [message]
        message["tool_calls"] = [self._tell_call(call) for call in block.calls]
        outputs = [self._tell_output(call) for call in block.calls]
        return [message, *outputs, *_tell_media(block.calls)]

    def _tell_call(self, call: _Call) -> dict[str, Any]:
        function = {"name": call.told.name, "arguments": self._arguments(call)}
        kept = self._kept_of_calls.get(call.told.call_id, {})
        return {"id": call.id, "type": "function", "function": function, **kept}

    def _arguments(self, call: _Call) -> str:
        arguments = call.told.arguments
        if arguments.strip() in {"", "null"}:  # some models write `null` for a tool without parameters
            return "{}"
        if is_json_object(arguments):
            return arguments
        self._warnings.append(f"{call.path}.arguments were wrapped: chat servers refuse what is not a JSON object.")
        return msgspec.json.encode({"arguments": arguments}).decode()

    def _tell_output(self, call: _Call) -> ChatMessage:
        parts = [part for output in call.outputs for part in output]
        content = joined(parts)
        if not call.outputs:
            self._warnings.append(f"{call.path} has no output in the history; the model is told so.")
            content = NO_OUTPUT
        elif not parts:
            content = EMPTY_OUTPUT
        return {"role": "tool", "tool_call_id": call.id, "content": content or OUTPUT_BELOW}

    def _tell_orphan(self, orphan: _Orphan) -> ChatMessage:
        self._warnings.append(f"{orphan.path} is told as a message: its call is not in the history.")
        title = f"Output of the tool call '{orphan.call_id}', which is not in the history:"
        media = [part for part in orphan.output if part["type"] != "text"]
        text = f"{title}\n{joined(orphan.output) or (OUTPUT_BELOW if media else EMPTY_OUTPUT)}"
        content: str | list[ChatPart] = [{"type": "text", "text": text}, *media] if media else text
        return {"role": "user", "content": content}


def _tell_media(calls: list[_Call]) -> list[ChatMessage]:
    """One user message with what tool messages cannot hold: images, files, sound."""
    content: list[ChatPart] = []
    for call in calls:
        media = [part for output in call.outputs for part in output if part["type"] != "text"]
        if media:
            content += [{"type": "text", "text": f"From the output of the call '{call.id}':"}, *media]
    return [{"role": "user", "content": content}] if content else []
