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
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from app.dialects.chat.byte_offsets import Letters
from app.dialects.chat.surrogates import mended_all
from app.dialects.chat.usage import count
from app.emitter.deltas import AnnotationAdded, Delta

BLOCK_BEGINS: Final = "begins"
"""`provider_specific_fields.block` of a chunk behind which Claude begins another block."""
BESIDE: Final = ("citations", "vertex_ai_grounding_metadata")
"""Keys of a chunk that citations stand under."""
_MARKER: Final = re.compile(r"\[(\d{1,3})\]", re.ASCII)


MOST: Final = 2048
"""Citations of one answer. Any more are left out and counted: each is an event, however short it is on the wire."""
LOOKED_AT: Final = 2 * 1024 * 1024
"""Characters of an answer in which markers are looked for: in 32 million, looking could take a second."""
MARKERS: Final = 10 * MOST
"""Markers that are looked at, whatever they refer to."""


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
        self.waiting: list[tuple[int, int, _Cited]] = []
        """Those whose text is still to come, as a heap: where it ends, and which number each has."""
        self._count = 0
        self._seen: set[tuple[bytes, int, int]] = set()
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
            due = []
            while self.waiting and self.waiting[0][0] <= self._written:
                due.append(heappop(self.waiting)[1:])
            deltas += [self._told(cited) for _, cited in sorted(due, key=itemgetter(0))]
        return deltas

    def settle(self) -> list[Delta]:
        """Claude's block of text is over: its citations are about all of it."""
        start, self._block = self._block, self._written
        pages, self._of_block = self._of_block, []
        return [self._told(_Cited(page, start, self._written)) for page in pages]

    def rest(self) -> list[Delta]:
        """Nothing more is written: what only the whole text can place, and what waited for text that did not come."""
        deltas = self.settle()
        waited = sorted(self.waiting, key=itemgetter(1))
        waiting = [cited._replace(end=min(cited.end, self._written)) for _, _, cited in waited]
        if self._supports or self._sources:
            text = "".join(self._said)
            waiting += self._grounded(text)
            waiting += self._marked(text)
        self.waiting, self._supports, self._sources = [], [], []
        # some say all of them again with every chunk
        return deltas + [self._told(cited) for cited in {_key(cited): cited for cited in waiting}.values()]

    def _annotate(self, annotation: dict[str, Any]) -> None:
        nested = annotation.get("url_citation")
        flat = mended_all(nested if isinstance(nested, dict) else annotation)
        if annotation.get("type") != "url_citation" or not isinstance(flat.get("url"), str):
            self.left_out += 1
            return
        start, end = count(flat, "start_index"), count(flat, "end_index")
        if end <= start:
            start = end = self._written
        cited = _Cited(_page(flat["url"], flat.get("title"), flat), start, end)
        if (key := _key(cited)) not in self._seen and self._is_room():
            self._seen.add(key)
            heappush(self.waiting, (end, self._count, cited))

    def _is_room(self) -> bool:
        """Whether one more citation may be told."""
        self._count += 1
        if self._count > MOST:
            self.left_out += 1
        return self._count <= MOST

    def _fields(self, fields: Any) -> list[Delta]:
        """What Claude cites. Only pages have an address; a document of the request has none."""
        if not isinstance(fields, dict):
            return []
        deltas = self.settle() if fields.get("block") == BLOCK_BEGINS else []
        citation = fields.get("citation")
        if isinstance(citation, dict):
            address = mended_all(citation.get("url") or citation.get("source"))
            if isinstance(address, str) and address.startswith(("http://", "https://")) and self._is_room():
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
        markers = _MARKER.finditer(text, 0, LOOKED_AT)
        found = [
            _Cited(self._sources[int(marker[1]) - 1], marker.start(), marker.end())
            for marker in islice(markers, MARKERS)
            if 0 < int(marker[1]) <= len(self._sources) and self._is_room()
        ]
        if len(text) > LOOKED_AT or next(markers, None) is not None:
            self.left_out += 1  # how many there are, nobody has counted
        cited = {page["url"] for page, _, _ in found}
        self.left_out += sum(1 for page in self._sources if page["url"] not in cited)
        return [entry for entry in found if entry.page["url"]]

    def _grounded(self, text: str) -> list[_Cited]:
        """What Gemini's answer rests on, segment by segment."""
        found = []
        letters = Letters(text)
        for metadata in self._supports:
            chunks = objects(metadata.get("groundingChunks"))
            for support in objects(metadata.get("groundingSupports")):
                place = _segment(support.get("segment"), letters)
                seats = support.get("groundingChunkIndices")
                for seat in seats if isinstance(seats, list) else ():
                    web = chunks[seat].get("web") if type(seat) is int and 0 <= seat < len(chunks) else None
                    if place is None or not isinstance(web, dict) or not isinstance(web.get("uri"), str):
                        self.left_out += 1
                    elif self._is_room():
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


def _key(cited: _Cited) -> tuple[bytes, int, int]:
    return msgspec.json.encode(cited.page), cited.start, cited.end


def _segment(segment: Any, letters: Letters) -> tuple[int, int] | None:
    """From where to where the segment goes, in letters. Its numbers are believed only where its text stands there."""
    if not isinstance(segment, dict):
        return None
    start, end, cited = count(segment, "startIndex"), count(segment, "endIndex"), segment.get("text")
    before, within = letters.between(start, end)
    if within and (cited == within or not isinstance(cited, str)):
        return before, before + len(within)
    if isinstance(cited, str) and cited and (found := letters.only(cited)) is not None:
        return found, found + len(cited)
    return None
