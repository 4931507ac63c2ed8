"""Citations of web pages, each told once the text it is about has been written.

An upstream counts from the beginning of its whole answer, a client from the beginning of a part. So a place is handed
on as what does not depend on either: how far behind the last letter written it lies.

    who                             how                                          its place
    OpenAI, OpenRouter              `annotations` of a delta, nested or flat     as it says
    Gemini behind litellm           `vertex_ai_grounding_metadata`               in bytes, held against the cited text
                                                                                 (litellm's own `annotations` take them
                                                                                 for letters)
    Claude behind litellm           `provider_specific_fields.citation`          the block of text it stands in
    Perplexity                      `citations`, a list of addresses             where the text says `[1]`

A citation that says no place is told as an empty one behind what has been written. What has no address, or is
referred to from nowhere, is left out and counted.
"""

import re
from typing import Any, Final, NamedTuple

from app.dialects.chat.surrogates import mended_all
from app.dialects.chat.usage import count
from app.turn.deltas import AnnotationAdded, Delta

BLOCK_BEGINS: Final = "begins"
"""`provider_specific_fields.block` of a chunk behind which Claude begins another block."""
BESIDE: Final = ("citations", "vertex_ai_grounding_metadata")
"""Keys of a chunk that citations stand under."""
_MARKER: Final = re.compile(r"\[(\d{1,3})\]", re.ASCII)


class _Cited(NamedTuple):
    """A page, and the part of the whole answer that cites it."""

    page: dict[str, Any]
    start: int
    end: int


class Citations:
    """The citations of one answer."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._written = 0
        self.waiting: list[_Cited] = []
        """Those whose text is still to come."""
        self._block = 0
        """Where Claude's current block begins."""
        self._of_block: list[dict[str, Any]] = []
        self._supports: list[dict[str, Any]] = []
        self._sources: list[dict[str, Any]] = []
        self.left_out = 0
        """How many could not be told."""

    def wrote(self, text: str) -> None:
        """More text of the answer."""
        self._said.append(text)
        self._written += len(text)

    def read(self, chunk: dict[str, Any], delta: dict[str, Any]) -> list[Delta]:
        """The citations that this chunk brings, and those whose text has been written by now."""
        if grounding := objects(chunk.get("vertex_ai_grounding_metadata")):
            self._supports += grounding
        elif "annotations" in delta:
            for annotation in objects(delta["annotations"]):
                self._annotate(annotation)
        deltas = self._fields(delta["provider_specific_fields"]) if "provider_specific_fields" in delta else []
        if "citations" in chunk:
            self._list(chunk["citations"], chunk.get("search_results"))
        if self.waiting and self._written:
            due = [cited for cited in self.waiting if cited.end <= self._written]
            self.waiting = [cited for cited in self.waiting if cited.end > self._written]
            deltas += [self._told(cited) for cited in due]
        return deltas

    def settle(self) -> list[Delta]:
        """Claude's block of text is over: its citations are about all of it."""
        start, self._block = self._block, self._written
        pages, self._of_block = self._of_block, []
        return [self._told(_Cited(page, start, self._written)) for page in pages]

    def rest(self) -> list[Delta]:
        """Nothing more is written: what only the whole text can place, and what waited for text that did not come."""
        deltas = self.settle()
        waiting = [cited._replace(end=min(cited.end, self._written)) for cited in self.waiting]
        if self._supports or self._sources:
            text = "".join(self._said)
            waiting += self._grounded(text)
            waiting += self._marked(text)
        self.waiting, self._supports, self._sources = [], [], []
        told: list[_Cited] = []
        for cited in waiting:
            if cited not in told:  # some say all of them again with every chunk
                told.append(cited)
        return deltas + [self._told(cited) for cited in told]

    def _annotate(self, annotation: dict[str, Any]) -> None:
        nested = annotation.get("url_citation")
        flat = mended_all(nested if isinstance(nested, dict) else annotation)
        if annotation.get("type") != "url_citation" or not isinstance(flat.get("url"), str):
            self.left_out += 1
            return
        start, end = count(flat, "start_index"), count(flat, "end_index")
        if end <= start:
            start = end = self._written
        self.waiting.append(_Cited(_page(flat["url"], flat.get("title"), flat), start, end))

    def _fields(self, fields: Any) -> list[Delta]:
        """What Claude cites. Only pages have an address; a document of the request has none."""
        if not isinstance(fields, dict):
            return []
        deltas = self.settle() if fields.get("block") == BLOCK_BEGINS else []
        citation = fields.get("citation")
        if isinstance(citation, dict):
            address = mended_all(citation.get("url") or citation.get("source"))
            if isinstance(address, str) and address.startswith(("http://", "https://")):
                self._of_block.append(_page(address, mended_all(citation.get("title"))))
            else:
                self.left_out += 1
        return deltas

    def _list(self, addresses: Any, results: Any) -> None:
        titles = {found.get("url"): found.get("title") for found in objects(results) if type(found.get("url")) is str}
        if isinstance(addresses, list) and addresses:
            known = [address if isinstance(address, str) else "" for address in addresses]
            self._sources = [_page(mended_all(url), mended_all(titles.get(url))) for url in known]

    def _marked(self, text: str) -> list[_Cited]:
        found = [
            _Cited(self._sources[int(marker[1]) - 1], marker.start(), marker.end())
            for marker in _MARKER.finditer(text)
            if 0 < int(marker[1]) <= len(self._sources)
        ]
        cited = {page["url"] for page, _, _ in found}
        self.left_out += sum(1 for page in self._sources if page["url"] not in cited)
        return [entry for entry in found if entry.page["url"]]

    def _grounded(self, text: str) -> list[_Cited]:
        """What Gemini's answer rests on, segment by segment."""
        found = []
        written = text.encode("utf-8", "surrogatepass")
        for metadata in self._supports:
            chunks = objects(metadata.get("groundingChunks"))
            for support in objects(metadata.get("groundingSupports")):
                place = _segment(support.get("segment"), text, written)
                seats = support.get("groundingChunkIndices")
                for seat in seats if isinstance(seats, list) else ():
                    web = chunks[seat].get("web") if type(seat) is int and 0 <= seat < len(chunks) else None
                    if place is None or not isinstance(web, dict) or not isinstance(web.get("uri"), str):
                        self.left_out += 1
                        continue
                    found.append(_Cited(_page(mended_all(web["uri"]), mended_all(web.get("title"))), *place))
        return found

    def _told(self, cited: _Cited) -> Delta:
        start = min(cited.start, cited.end)
        return AnnotationAdded(cited.page, self._written - start, self._written - cited.end)


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, whatever else stands in it."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _page(url: str, title: Any, extras: dict[str, Any] | None = None) -> dict[str, Any]:
    """Strict clients end the stream at a citation that lacks a field."""
    return {**(extras or {}), "type": "url_citation", "url": url, "title": title if isinstance(title, str) else ""}


def _segment(segment: Any, text: str, written: bytes) -> tuple[int, int] | None:
    """From where to where the segment goes, in letters. Its numbers are believed only where its text stands there."""
    if not isinstance(segment, dict):
        return None
    start, end, cited = count(segment, "startIndex"), count(segment, "endIndex"), segment.get("text")
    try:
        before, within = written[:start].decode(), written[start:end].decode()
    except UnicodeDecodeError:
        before, within = "", ""
    if within and (cited == within or not isinstance(cited, str)):
        return len(before), len(before) + len(within)
    if isinstance(cited, str) and cited and text.count(cited) == 1:
        return text.index(cited), text.index(cited) + len(cited)
    return None
