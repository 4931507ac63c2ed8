"""Converts the events of the Messages API to deltas. A field of the wrong type is ignored; an error is reported.

event                   deltas
message_start           the usage of the input; another one carries on an answer that was paused
content_block_start     those with which the block begins
content_block_delta     more of the block that is open under this index
content_block_stop      those with which the block ends
message_delta           why the answer ends, and the usage
message_stop            the end of blocks that the server did not end
ping                    none
"""

from collections.abc import Sequence
from typing import Any, Final

from ...emitter.deltas import Broke, Delta, RefusalTextDelta, Stopped, ThoughtEnded, UsageReported
from ...protocol.problems import Problem
from ...protocol.warnings import ClientWarning
from ..surrogates import mended
from ..wire import LeftOut
from .message_usage import MessageUsage
from .open_blocks import (
    OpenBlock,
    OpenRedactedBlock,
    OpenTextBlock,
    OpenThinkingBlock,
    OpenToolUseBlock,
    UnknownBlock,
)
from .server_searches import SEARCH, OpenSearchCall, OpenSearchResult

Json = dict[str, Any]

UNREADABLE: Final = Problem(code="upstream_error", message="The model's server sent something that is no event.")
REPORTED: Final = Problem(code="upstream_error", message="The model's server reported an error while it answered.")
NAMELESS: Final = Problem(code="upstream_error", message="The model's server sent a tool call without a name.")
MOST_BLOCKS: Final = 8192
"""Blocks of one answer. Each costs several events, however short it is on the wire."""
TOO_MANY: Final = Problem(
    code="upstream_error", message=f"The model's server sent more than {MOST_BLOCKS} blocks in one answer."
)
STOPPED: Final = {
    "max_tokens": Stopped("length"),
    "model_context_window_exceeded": Stopped("length"),
    "refusal": Stopped("content_filter"),
}
"""Any other reason is a regular end: `end_turn`, `tool_use`, `stop_sequence`, `pause_turn`."""
PAUSED: Final = LeftOut(
    "paused",
    True,  # noqa: FBT003 — the note's value
    ClientWarning("output", "pause", "The model's server paused a long answer: send the output back to continue it."),
)
_BLOCK_SIZE: Final = 64
"""Bytes that a block counts as in addition to its content."""
_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 64


class MessageReader:
    """Reads the events of one answer, and the provider state in them if `keeps_state`."""

    def __init__(self, *, keeps_state: bool = False) -> None:
        self._keeps_state = keeps_state
        self._open: dict[int, OpenBlock] = {}
        self._count = 0
        self.written = 0
        """Characters that the model has written."""
        self._held = 0
        """Approximate bytes of everything else in its blocks."""
        self._citations_left_out = 0
        self._is_paused = False
        self._open_thought: int | None = None
        """The index of a thought that is open. The next block ends it: llama.cpp ends all blocks after the last one."""
        self._ended_thought = False
        """Whether the last block was a thought, so that the next block ends its item. Without one the answer ends it,
        and then a thought that was cut is incomplete."""
        self._searches: dict[str, OpenSearchCall] = {}
        """Searches whose results have not come yet, by their ids."""
        self._usage = MessageUsage()
        self._unknown: dict[str, None] = {}
        """The names of what was passed over."""

    @property
    def size(self) -> int:
        """Approximate bytes of the answer so far."""
        return self.written + self._held

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        open_texts = [block for block in self._open.values() if isinstance(block, OpenTextBlock)]
        return self._citations_left_out + sum([block.citations_left_out for block in open_texts])

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """Blocks and deltas of types that are not known, and the rest of an answer that was paused."""
        paused = (PAUSED,) if self._is_paused else ()
        if not self._unknown:
            return paused
        names = ", ".join(self._unknown)
        details = f"Parts of the answer that no client could be shown were left out: {names}."
        return (LeftOut("parts_left_out", names, ClientWarning("output", "unknown parts", details)), *paused)

    def read(self, event: Any) -> list[Delta]:
        """The deltas in one event."""
        try:
            return self._read(event)
        except RecursionError:  # objects within objects, hundreds of levels deep
            return [Broke(UNREADABLE)]

    def _read(self, event: Any) -> list[Delta]:  # noqa: PLR0911 — one for each kind of event
        if not isinstance(event, dict):
            return [Broke(UNREADABLE)]
        match event.get("type"):
            case "content_block_delta":
                return self._more(event)
            case "content_block_start":
                return self._begin(event)
            case "content_block_stop":
                return self._end(_index(event))
            case "message_start":
                self._usage.begin_message()
                message = event.get("message")
                return self._read_usage(message.get("usage")) if isinstance(message, dict) else []
            case "message_delta":
                return self._stop(event)
            case "message_stop":
                return self._end_all()
            case "error":
                return [Broke(REPORTED)]  # our upstream has interpreted the error before
            case "ping":
                return []
            case kind:
                self._pass_over(kind)
                return []

    def rest(self) -> list[Delta]:
        """The end of the blocks that are still open. Their thoughts cannot be sent back: the signature is missing."""
        for block in self._open.values():
            if isinstance(block, OpenThinkingBlock):
                block.keeps_state = False
        return self._end_all()

    def _end_all(self) -> list[Delta]:
        return [delta for index in list(self._open) for delta in self._end(index)]

    def _more(self, event: Json) -> list[Delta]:
        block, delta = self._open.get(_index(event)), event.get("delta")
        if block is None or not isinstance(delta, dict):
            return []
        written, held = block.written, block.size
        deltas = block.add(delta)
        self.written += block.written - written
        self._held += block.size - held
        if deltas is None:
            self._pass_over(delta.get("type"))
            return []
        return deltas

    def _begin(self, event: Json) -> list[Delta]:
        index, content = _index(event), event.get("content_block")
        if not isinstance(content, dict):
            return []
        deltas = self._end(index)
        if self._open_thought is not None:
            deltas += self._end(self._open_thought)
        self._count += 1
        if self._count > MOST_BLOCKS:
            return [Broke(TOO_MANY)]
        block = self._block(content)
        if isinstance(block, OpenToolUseBlock) and not block.name:
            return [*deltas, Broke(NAMELESS)]
        if self._ended_thought:
            deltas.append(ThoughtEnded())
            self._ended_thought = False
        self._open[index] = block
        self._open_thought = index if isinstance(block, OpenThinkingBlock) else None
        deltas += block.begin()
        self.written += block.written
        self._held += block.size + _BLOCK_SIZE
        return deltas

    def _block(self, content: Json) -> OpenBlock:  # noqa: PLR0911 — one for each type of block
        match content.get("type"):
            case "text":
                return OpenTextBlock(content, keeps_state=self._keeps_state)
            case "thinking":
                return OpenThinkingBlock(content, keeps_state=self._keeps_state)
            case "redacted_thinking":
                return OpenRedactedBlock(content, keeps_state=self._keeps_state)
            case "tool_use":
                return OpenToolUseBlock(content, self._count)
            case "server_tool_use" if content.get("name") == SEARCH:
                search = OpenSearchCall(content)
                self._searches[search.id] = search
                return search
            case "web_search_tool_result" if call := self._searches.pop(str(content.get("tool_use_id")), None):
                return OpenSearchResult(content, call, keeps_state=self._keeps_state)
            case kind:
                self._pass_over(kind)
                return UnknownBlock()

    def _end(self, index: int) -> list[Delta]:
        block = self._open.pop(index, None)
        if block is None:
            return []
        written = block.written
        deltas = block.end()
        self.written += block.written - written
        self._ended_thought = isinstance(block, OpenThinkingBlock | OpenRedactedBlock)
        if isinstance(block, OpenTextBlock):
            self._citations_left_out += block.citations_left_out
        return deltas

    def _stop(self, event: Json) -> list[Delta]:
        delta = event.get("delta")
        deltas = self._read_usage(event.get("usage"))
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if not isinstance(reason, str) or not isinstance(delta, dict):
            return deltas
        deltas += self._end_all()
        self._is_paused = reason == "pause_turn"
        details = delta.get("stop_details")
        if reason == "refusal" and isinstance(details, dict) and isinstance(why := details.get("explanation"), str):
            deltas.append(RefusalTextDelta(mended(why)))
        return [*deltas, STOPPED.get(reason, Stopped("end"))]

    def _read_usage(self, reported: Any) -> list[Delta]:
        usage = self._usage.read(reported)
        return [] if usage is None else [UsageReported(usage, self._usage.searches)]

    def _pass_over(self, kind: Any) -> None:
        if len(self._unknown) < _MOST_NAMES:
            self._unknown[mended(str(kind))[:_LONGEST_NAME]] = None


def _index(event: Json) -> int:
    index = event.get("index")
    return index if type(index) is int else 0
