"""The content blocks of an answer while they stream: one class for each type."""

from typing import Any, Final, Protocol

import msgspec

from ...emitter.deltas import (
    AnnotationAdded,
    CallArguments,
    CallOpened,
    Delta,
    ProviderStateAdded,
    ReasoningDelta,
    TextDelta,
)
from ..surrogates import SurrogateJoiner, mended, mended_all
from .block_state import BLOCKS
from .cited_text import CITED, returned_citation
from .content_blocks import text_block
from .server_searches import cited_page

Json = dict[str, Any]


MOST_CITATIONS: Final = 2048
"""Citations of one block. Any more are left out and counted."""


class OpenBlock(Protocol):
    """A block that is not complete."""

    size: int
    """Approximate bytes of it so far, in addition to its text and arguments."""
    written: int
    """Characters of text, reasoning or arguments so far."""

    def begin(self) -> list[Delta]:
        """The deltas with which it begins."""
        ...

    def add(self, delta: Json) -> list[Delta] | None:
        """The deltas for more of it; None if it has no such part."""
        ...

    def end(self) -> list[Delta]:
        """The deltas with which it ends."""
        ...


class _OpenPart:
    """The part that the blocks share."""

    def __init__(self) -> None:
        self.size = 0
        self.written = 0
        self._joiner = SurrogateJoiner()

    def _joined(self, text: Any) -> str:
        """More text, which may begin or end within a character."""
        if not isinstance(text, str) or not text:
            return ""
        self.written += len(text)
        return self._joiner.add(text)


class OpenTextBlock(_OpenPart):
    """Text for the user."""

    def __init__(self, block: Json, *, keeps_state: bool) -> None:
        super().__init__()
        self._text = block.get("text")
        self._citations = block.get("citations")
        self._length = 0
        """Characters that were passed on."""
        self._keeps_state = keeps_state
        self._texts: list[str] = []
        """What was passed on, where it may have to be returned with its citations."""
        self._pages: list[Json] = []
        self._returned: list[Json] = []
        """The citations that the server wants back."""
        self.citations_left_out = 0

    def begin(self) -> list[Delta]:
        """What came with the beginning: most servers send nothing there."""
        text = self._more(self._text)
        for citation in self._citations if isinstance(self._citations, list) else ():
            self._cite(citation)
        self._text = self._citations = None
        return [TextDelta(text)] if text else []

    def add(self, delta: Json) -> list[Delta] | None:
        """More text, or a page that the whole block cites."""
        match delta.get("type"):
            case "text_delta":
                return [TextDelta(self._more(delta.get("text")))]
            case "citations_delta":
                self._cite(delta.get("citation"))
                return []
            case _:
                return None

    def end(self) -> list[Delta]:
        """What was held back, and the citations: each is about the whole block."""
        rest = self._joiner.rest()
        length = self._length + len(rest)
        deltas: list[Delta] = [TextDelta(rest)] if rest else []
        deltas += [AnnotationAdded(page, from_start=length) for page in self._pages]
        text = "".join([*self._texts, rest])
        if not self._returned or not text.strip():
            return deltas
        return [*deltas, ProviderStateAdded({CITED: [{**text_block(text), "citations": self._returned}]})]

    def _more(self, text: Any) -> str:
        joined = self._joined(text)
        self._length += len(joined)
        if self._keeps_state:
            self._texts.append(joined)
        return joined

    def _cite(self, citation: Any) -> None:
        page = cited_page(citation)
        if page is None or len(self._pages) >= MOST_CITATIONS:
            self.citations_left_out += 1
            return
        self._pages.append(page)
        self.size += len(page["url"]) + len(page["title"])
        if self._keeps_state and (returned := returned_citation(citation)) is not None:
            self._returned.append(returned)
            self.size += len(msgspec.json.encode(returned))


class OpenThinkingBlock(_OpenPart):
    """Reasoning and its signature."""

    def __init__(self, block: Json, *, keeps_state: bool) -> None:
        super().__init__()
        self.keeps_state = keeps_state
        self._first = block.get("thinking")
        self._texts: list[str] = []
        signature = block.get("signature")
        self._signatures = [signature] if isinstance(signature, str) else []
        self.size += sum(map(len, self._signatures))

    def begin(self) -> list[Delta]:
        """The reasoning that came with the beginning: most servers send none."""
        return self._reason(self._first)

    def add(self, delta: Json) -> list[Delta] | None:
        """More reasoning, or a part of the signature."""
        match delta.get("type"):
            case "thinking_delta":
                return self._reason(delta.get("thinking"))
            case "signature_delta":
                if isinstance(signature := delta.get("signature"), str):
                    self.size += len(signature)
                    self._signatures.append(signature)
                return []
            case _:
                return None

    def end(self) -> list[Delta]:
        """What was held back, and the state, which holds the whole block."""
        rest = self._joiner.rest()
        deltas: list[Delta] = [ReasoningDelta(rest)] if rest else []
        if not self.keeps_state:
            return deltas
        thinking = mended("".join([*self._texts, rest]))
        block = {"type": "thinking", "thinking": thinking, "signature": mended("".join(self._signatures))}
        return [*deltas, ProviderStateAdded({BLOCKS: [block]})]

    def _reason(self, text: Any) -> list[Delta]:
        joined = self._joined(text)
        if not joined:
            return []
        if self.keeps_state:
            self._texts.append(joined)
        return [ReasoningDelta(joined)]


class OpenRedactedBlock(_OpenPart):
    """Reasoning that only the server can read."""

    def __init__(self, block: Json, *, keeps_state: bool) -> None:
        super().__init__()
        self._data = mended(block["data"]) if isinstance(block.get("data"), str) else ""
        self._keeps_state = keeps_state

    def begin(self) -> list[Delta]:
        """Nothing: the block is complete."""
        self.size += len(self._data)
        return []

    def add(self, delta: Json) -> list[Delta] | None:  # noqa: ARG002 — it has no parts
        """It has no more parts."""
        return None

    def end(self) -> list[Delta]:
        """The state, which is the block."""
        if not self._keeps_state:
            return []
        return [ProviderStateAdded({BLOCKS: [{"type": "redacted_thinking", "data": self._data}]})]


class OpenToolUseBlock(_OpenPart):
    """A call of a tool of the client."""

    def __init__(self, block: Json, key: int) -> None:
        super().__init__()
        self._key = key
        self.name = mended(block["name"]) if isinstance(block.get("name"), str) else ""
        self._id = mended(block["id"]) if isinstance(block.get("id"), str) else ""
        given = block.get("input")
        self._given = msgspec.json.encode(mended_all(given)).decode() if isinstance(given, dict) and given else ""
        """All arguments, if they came with the beginning."""
        self.size += len(self.name) + len(self._id) + len(self._given)

    def begin(self) -> list[Delta]:
        """The call, without arguments."""
        return [CallOpened(self._key, self.name, self._id)]

    def add(self, delta: Json) -> list[Delta] | None:
        """More arguments."""
        if delta.get("type") != "input_json_delta":
            return None
        arguments = self._joined(delta.get("partial_json"))
        return [CallArguments(self._key, arguments)] if arguments else []

    def end(self) -> list[Delta]:
        """What was held back; or all arguments, if they came with the beginning."""
        arguments = self._joiner.rest()
        if not self.written:
            arguments = self._given
            self.written = len(arguments)
        return [CallArguments(self._key, arguments)] if arguments else []


class UnknownBlock(_OpenPart):
    """A block of a type that no client could be shown. It is passed over."""

    def begin(self) -> list[Delta]:
        """Nothing."""
        return []

    def add(self, delta: Json) -> list[Delta] | None:  # noqa: ARG002 — none of it is shown
        """Nothing."""
        return []

    def end(self) -> list[Delta]:
        """Nothing."""
        return []
