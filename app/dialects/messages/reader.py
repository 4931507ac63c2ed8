"""Events of the Messages API -> deltas. A field of the wrong type is ignored; an error is reported.

event                   deltas
message_start           the usage of the input
content_block_start     those with which the block begins
content_block_delta     more of the block that is open under this index
content_block_stop      those with which the block ends
message_delta           why the answer ends, and the usage
message_stop            the end of blocks that the server did not end
"""

from collections.abc import Sequence
from typing import Any

from ...emitter import deltas as d
from ...emitter.rules import NAMELESS
from ...prompt.state import SEARCHES
from ...types.json import Json, as_object, as_text, encode, objects
from ...types.response import Usage
from ..usage import UsageReader
from .blocks import BLOCKS, THOUGHTS, Block, index_of

_STOPPED = {
    "max_tokens": d.Stopped("length"),
    "model_context_window_exceeded": d.Stopped("length"),
    "refusal": d.Stopped("content_filter"),
}
"""Any other reason is a regular end: `end_turn`, `tool_use`, `stop_sequence`, `pause_turn`."""
_UNKNOWN = "Parts of the answer that no client could be shown were left out"
_PAUSED = "The model's server paused a long answer: send the output back to continue it."
_TAKES = {
    "text": ("text_delta", "citations_delta"),
    "thinking": ("thinking_delta", "signature_delta"),
    "redacted_thinking": (),
    "tool_use": ("input_json_delta",),
    "server_tool_use": ("input_json_delta",),
    "web_search_tool_result": (),
}
"""The types of blocks that are known, and of the deltas of each."""


class EventReader:
    """Reads the events of one answer, and the provider state in them if `keeps_state`."""

    def __init__(self, *, keeps_state: bool) -> None:
        self.written = 0
        """Characters that the model has written."""
        self.citations_left_out = 0
        """Citations that cannot be sent."""
        self._keeps_state = keeps_state
        self._open: dict[int, Block] = {}
        self._count = 0
        self._ended_thought = False
        """Whether the last block was a thought, so that the next block ends its item. Without one the answer ends it,
        and then a thought that was cut is incomplete."""
        self._searches: dict[str, Block] = {}
        """Searches whose results have not come yet, by their ids."""
        self._usage = UsageReader()
        """Of this message."""
        self._used: Usage | None = None
        """Of all messages up to now."""
        self._used_before: Usage | None = None
        """Of those before this one: another one carries on an answer that was paused."""
        self._unknown: dict[str, None] = {}
        """The names of what was passed over."""
        self._is_paused = False

    @property
    def left_out(self) -> Sequence[str]:
        """Parts of types that are not known, and the rest of an answer that was paused."""
        names = ", ".join(list(self._unknown)[:20])
        told = [f"{_UNKNOWN}: {names}."] if names else []
        return [*told, _PAUSED] if self._is_paused else told

    def read(self, event: Json) -> d.Deltas:
        """The deltas in one event."""
        match event.get("type"):
            case "content_block_delta":
                return self._more(event)
            case "content_block_start":
                return self._begin(event)
            case "content_block_stop":
                return self._end(index_of(event))
            case "message_start":
                self._usage, self._used_before = UsageReader(), self._used
                return self._counted(event.get("message"))
            case "message_delta":
                return [*self._counted(event), *self._stop(event.get("delta"))]
            case "message_stop":
                return self._end_all()
            case kind:
                return self._pass_over(kind)

    def rest(self) -> d.Deltas:
        """The end of the blocks that are still open. Their thoughts cannot be sent back: the signature is missing."""
        self._keeps_state = False
        return self._end_all()

    def _more(self, event: Json) -> d.Deltas:
        block, delta = self._open.get(index_of(event)), event.get("delta")
        if block is None or not isinstance(delta, dict):
            return []
        if (kind := delta.get("type")) not in _TAKES[block.type]:
            return self._pass_over(kind)
        text = block.add(delta)
        return self._wrote(block, text) if text and kind != "signature_delta" else []

    def _wrote(self, block: Block, text: str) -> d.Deltas:
        self.written += len(text)
        match block.type:
            case "text":
                return [d.TextDelta(text)]
            case "thinking":
                return [d.ReasoningDelta(text)]
            case "tool_use":
                return [d.CallArguments(block.key, text)]
            case _:
                return []

    def _begin(self, event: Json) -> d.Deltas:
        index, content = index_of(event), event.get("content_block")
        if not isinstance(content, dict):
            return []
        self._count += 1
        block = Block(content, self._count)
        thoughts = [at for at, other in self._open.items() if other.type in THOUGHTS]  # llama.cpp ends them late
        deltas = [delta for at in (*thoughts, index) for delta in self._end(at)]
        if self._ended_thought:
            deltas.append(d.ThoughtEnded())
            self._ended_thought = False
        self._open[index] = block
        return [*deltas, *self._begun(block, index)]

    def _begun(self, block: Block, index: int) -> d.Deltas:
        """What comes with the beginning of a block."""
        match block.type:
            case "text" | "thinking":
                text = block.text(block.type)
                return self._wrote(block, text) if text else []
            case "tool_use":
                name = block.text("name")
                return [d.CallOpened(block.key, name, block.text("id")) if name else d.Broke(NAMELESS)]
            case "web_search_tool_result" if (call := self._searches.pop(block.text("tool_use_id"), None)) is not None:
                return self._found(call, block)
            case "server_tool_use" if block.text("name") == "web_search":
                self._searches[block.text("id")] = block
                return []
            case "redacted_thinking":
                return []
            case kind:
                del self._open[index]
                return self._pass_over(kind)

    def _found(self, call: Block, result: Block) -> d.Deltas:
        """A search is two blocks: both go back as they came, and a client is shown one item."""
        pages, query = result.given.get("content"), call.input.get("query")
        urls = tuple([page["url"] for page in objects(pages) if isinstance(page.get("url"), str)])
        made = d.SearchMade(as_text(query), urls, failed=not isinstance(pages, list))
        return [*self._state({BLOCKS: [call.whole, result.whole], SEARCHES: 1}), made]

    def _state(self, fields: Json) -> d.Deltas:
        return [d.ProviderStateAdded(fields)] if self._keeps_state else []

    def _end(self, index: int) -> d.Deltas:
        block = self._open.pop(index, None)
        if block is None:
            return []
        self._ended_thought = block.type in THOUGHTS
        if self._ended_thought:
            return self._state({BLOCKS: [block.whole]})
        if block.type == "tool_use" and not block.text("input") and block.input:  # it came whole
            return self._wrote(block, encode(block.input).decode())
        pages = [page for page in map(_page, block.citations) if page is not None]
        self.citations_left_out += len(block.citations) - len(pages)
        return [d.AnnotationAdded(page, from_start=len(block.text("text"))) for page in pages]  # of the whole block

    def _end_all(self) -> d.Deltas:
        return [delta for index in list(self._open) for delta in self._end(index)]

    def _counted(self, holder: Any) -> d.Deltas:
        usage = self._usage.read(as_object(holder))
        if usage is None:
            return []
        self._used = usage.plus(self._used_before)
        return [d.UsageReported(self._used)]

    def _stop(self, delta: Any) -> d.Deltas:
        if not (reason := as_text(as_object(delta).get("stop_reason"))):
            return []
        deltas = self._end_all()
        self._is_paused = reason == "pause_turn"
        if reason == "refusal":
            deltas.append(d.RefusalDelta(as_text(as_object(delta.get("stop_details")).get("explanation"))))
        return [*deltas, _STOPPED.get(reason, d.Stopped("end"))]

    def _pass_over(self, kind: Any) -> d.Deltas:
        self._unknown[str(kind)[:64]] = None
        return []


def _page(citation: Any) -> Json | None:
    """The annotation for a citation, without its place in the text; None if it is not about a page of the web."""
    url = as_text(as_object(citation).get("url"))
    if not url.startswith(("https://", "http://")):
        return None
    return {"type": "url_citation", "url": url, "title": as_text(citation.get("title"))}
