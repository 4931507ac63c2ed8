"""Reads citations of web pages. Each is sent when the text that it is about has been written.

An upstream counts offsets from the beginning of its whole answer, a client from the beginning of a part. So a citation
is passed on with its distance from the last character written, which depends on neither.

    server                          field                                        offsets
    OpenAI, OpenRouter              `annotations` of a delta, nested or flat     as given
    Gemini behind litellm           `vertex_ai_grounding_metadata`               in bytes, compared with the cited text
                                                                                 (litellm's own `annotations` read them
                                                                                 as characters)
    Claude behind litellm           `provider_specific_fields.citation`          the block of text that it is in
    Perplexity                      `citations`, a list of URLs                  where the text has `[1]`

A citation without offsets is an empty range at the end of the text so far. A citation without a URL, or to which no
text refers, is left out and counted.
"""

import re
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from ...emitter.deltas import AnnotationAdded, Delta
from ..reported_numbers import count
from ..surrogates import mended_all
from .byte_offsets import ByteOffsets

BLOCK_BEGINS: Final = "begins"
"""The `provider_specific_fields.block` of a chunk after which Claude begins another block."""
CHUNK_KEYS: Final = ("citations", "vertex_ai_grounding_metadata")
"""The keys of a chunk, not of its delta, that hold citations."""
_MARKER: Final = re.compile(r"\[(\d{1,3})\]", re.ASCII)

MOST: Final = 2048
"""Citations of one answer. Any more are left out and counted: each is an event, however short it is on the wire."""
LOOKED_AT: Final = 2 * 1024 * 1024
"""Characters of an answer that are searched for markers: to search 32 million could take a second."""
MARKERS: Final = 10 * MOST
"""Markers that are read, whatever they refer to."""


class _Cited(NamedTuple):
    """A page, and the part of the whole answer that cites it."""

    page: dict[str, Any]
    start: int
    end: int


class Citations:
    """The citations of one answer."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self.waiting: list[tuple[int, int, _Cited]] = []
        """Heap of the citations whose text has not arrived yet: the end of the text, the citation's number, itself."""
        self._count = 0
        self._seen: set[tuple[bytes, int, int]] = set()
        self._block_start = 0
        """The offset of Claude's current block."""
        self._block_pages: list[dict[str, Any]] = []
        self._supports: list[dict[str, Any]] = []
        self._sources: list[dict[str, Any]] = []
        self.left_out = 0
        """How many were not sent."""
        self.size = 0
        """Bytes of those that are sent."""

    def add_text(self, text: str) -> None:
        """More text of the answer."""
        self._texts.append(text)
        self._length += len(text)

    def read(self, chunk: dict[str, Any], delta: dict[str, Any]) -> list[Delta]:
        """The citations that can be sent after this chunk: new ones, and those whose text has arrived by now."""
        if grounding := objects(chunk.get("vertex_ai_grounding_metadata")):
            self._supports += grounding
        elif "annotations" in delta:
            for annotation in objects(delta["annotations"]):
                self._read_annotation(annotation)
        deltas = self._read_claude(delta["provider_specific_fields"]) if "provider_specific_fields" in delta else []
        if "citations" in chunk:
            self._read_sources(chunk["citations"], chunk.get("search_results"))
        if self.waiting and self._length:
            due = []
            while self.waiting and self.waiting[0][0] <= self._length:
                due.append(heappop(self.waiting)[1:])
            deltas += [self._delta(cited) for _, cited in sorted(due, key=itemgetter(0))]
        return deltas

    def end_block(self) -> list[Delta]:
        """The citations of Claude's block of text, which has ended: each is about the whole block."""
        start, self._block_start = self._block_start, self._length
        if not self._block_pages:
            return []
        pages, self._block_pages = self._block_pages, []
        return [self._delta(_Cited(page, start, self._length)) for page in pages]

    def rest(self) -> list[Delta]:
        """The citations that remain at the end: those whose offsets need the whole text, and those still waiting."""
        deltas = self.end_block()
        if not (self.waiting or self._supports or self._sources):  # as in most answers
            return deltas
        in_order = sorted(self.waiting, key=itemgetter(1))
        waiting = [cited._replace(end=min(cited.end, self._length)) for _, _, cited in in_order]
        if self._supports or self._sources:
            text = "".join(self._texts)
            waiting += self._gemini(text)
            waiting += self._markers(text)
        self.waiting, self._supports, self._sources = [], [], []
        # some servers repeat all of them with every chunk
        return deltas + [self._delta(cited) for cited in {_key(cited): cited for cited in waiting}.values()]

    def _read_annotation(self, annotation: dict[str, Any]) -> None:
        nested = annotation.get("url_citation")
        flat = mended_all(nested if isinstance(nested, dict) else annotation)
        if annotation.get("type") != "url_citation" or not isinstance(flat.get("url"), str):
            self.left_out += 1
            return
        start, end = count(flat, "start_index"), count(flat, "end_index")
        if end <= start:
            start = end = self._length
        cited = _Cited(_page(flat["url"], flat.get("title"), flat), start, end)
        if (key := _key(cited)) not in self._seen and self._is_room():
            self._seen.add(key)
            self.size += len(key[0])
            heappush(self.waiting, (end, self._count, cited))

    def _is_room(self) -> bool:
        """Counts one more citation, and returns whether it may be sent."""
        self._count += 1
        if self._count > MOST:
            self.left_out += 1
        return self._count <= MOST

    def _read_claude(self, fields: Any) -> list[Delta]:
        """A citation of Claude. Only web pages have a URL; a document of the request has none."""
        if not isinstance(fields, dict):
            return []
        deltas = self.end_block() if fields.get("block") == BLOCK_BEGINS else []
        citation = fields.get("citation")
        if isinstance(citation, dict):
            url = mended_all(citation.get("url") or citation.get("source"))
            if isinstance(url, str) and url.startswith(("http://", "https://")) and self._is_room():
                self._block_pages.append(page := _page(url, mended_all(citation.get("title"))))
                self.size += len(page["url"]) + len(page["title"])
            else:
                self.left_out += 1
        return deltas

    def _read_sources(self, urls: Any, results: Any) -> None:
        titles = {page.get("url"): page.get("title") for page in objects(results) if type(page.get("url")) is str}
        if isinstance(urls, list) and urls:
            strings = [url if isinstance(url, str) else "" for url in urls]
            self._sources = [_page(mended_all(url), mended_all(titles.get(url))) for url in strings]

    def _markers(self, text: str) -> list[_Cited]:
        """The citations of Perplexity, from the markers in the text."""
        markers = _MARKER.finditer(text, 0, LOOKED_AT)
        citations = [
            _Cited(self._sources[int(marker[1]) - 1], marker.start(), marker.end())
            for marker in islice(markers, MARKERS)
            if 0 < int(marker[1]) <= len(self._sources) and self._is_room()
        ]
        if len(text) > LOOKED_AT or next(markers, None) is not None:
            self.left_out += 1  # at least one: the rest was not counted
        cited = {page["url"] for page, _, _ in citations}
        self.left_out += sum(1 for page in self._sources if page["url"] not in cited)
        return [entry for entry in citations if entry.page["url"]]

    def _gemini(self, text: str) -> list[_Cited]:
        """The citations of Gemini, segment by segment."""
        citations = []
        offsets = ByteOffsets(text)
        for metadata in self._supports:
            chunks = objects(metadata.get("groundingChunks"))
            for support in objects(metadata.get("groundingSupports")):
                segment = _segment(support.get("segment"), offsets)
                indices = support.get("groundingChunkIndices")
                for index in indices if isinstance(indices, list) else ():
                    web = chunks[index].get("web") if type(index) is int and 0 <= index < len(chunks) else None
                    if segment is None or not isinstance(web, dict) or not isinstance(web.get("uri"), str):
                        self.left_out += 1
                    elif self._is_room():
                        citations.append(_Cited(_page(mended_all(web["uri"]), mended_all(web.get("title"))), *segment))
        return citations

    def _delta(self, cited: _Cited) -> Delta:
        start = min(cited.start, cited.end)
        return AnnotationAdded(cited.page, self._length - start, self._length - cited.end)


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; an empty list if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _page(url: str, title: Any, extras: dict[str, Any] | None = None) -> dict[str, Any]:
    """An annotation without offsets. It has every field: strict clients fail at a citation that lacks one."""
    return {**(extras or {}), "type": "url_citation", "url": url, "title": title if isinstance(title, str) else ""}


def _key(cited: _Cited) -> tuple[bytes, int, int]:
    return msgspec.json.encode(cited.page), cited.start, cited.end


def _segment(segment: Any, offsets: ByteOffsets) -> tuple[int, int] | None:
    """The start and end of the segment in characters. Its offsets are used only where they lead to its own text."""
    if not isinstance(segment, dict):
        return None
    start, end, cited = count(segment, "startIndex"), count(segment, "endIndex"), segment.get("text")
    first, within = offsets.between(start, end)
    if within and (cited == within or not isinstance(cited, str)):
        return first, first + len(within)
    if isinstance(cited, str) and cited and (only := offsets.find_only(cited)) is not None:
        return only, only + len(cited)
    return None
