"""Reads citations of web pages. Each is sent when the text that it is about has been written.

An upstream counts offsets from the beginning of its whole answer, a client from the beginning of a part. So a citation
is passed on with its distance from the last character written, which depends on neither.

    server                   field                                        offsets
    OpenAI, OpenRouter       `annotations` of a delta, nested or flat     as given
    Gemini behind litellm    `vertex_ai_grounding_metadata`               in bytes, compared with the cited text
                                                                          (litellm's own `annotations` read them as
                                                                          characters)
    Perplexity               `citations`, a list of URLs                  where the text has `[1]`

A citation without offsets is an empty range at the end of the text so far. A citation without a URL, or to which no
text refers, is left out and counted.
"""

import re
from typing import Any, NamedTuple

from ...emitter.deltas import AnnotationAdded, Delta, Deltas
from ...types.json import Json, as_text, encode, objects
from ..usage import count

CHUNK_KEYS = frozenset({"citations", "vertex_ai_grounding_metadata"})
"""The keys of a chunk, not of its delta, that hold citations."""
_MARKER = re.compile(r"\[(\d{1,3})\]", re.ASCII)


class _Cited(NamedTuple):
    """A page, and the part of the whole answer that cites it."""

    page: Json
    start: int
    end: int


class Citations:
    """The citations of one answer."""

    def __init__(self) -> None:
        self.waiting: list[_Cited] = []
        """Those whose text has not arrived yet."""
        self.left_out = 0
        """How many were not sent."""
        self._texts: list[str] = []
        self._length = 0
        self._seen: set[tuple[bytes, int, int]] = set()
        """Those that came: some servers repeat all of them with every chunk."""
        self._supports: list[Json] = []
        self._sources: list[Json] = []

    def add_text(self, text: str) -> None:
        """More text of the answer."""
        self._texts.append(text)
        self._length += len(text)

    def read(self, chunk: Json, delta: Json) -> Deltas:
        """The citations that can be sent after this chunk: new ones, and those whose text has arrived by now."""
        if grounding := objects(chunk.get("vertex_ai_grounding_metadata")):
            self._supports += grounding
        else:
            for annotation in objects(delta.get("annotations")):
                self._read_annotation(annotation)
        if urls := chunk.get("citations"):
            self._read_sources(urls, chunk.get("search_results"))
        due = [cited for cited in self.waiting if cited.end <= self._length] if self._length else []
        if due:
            self.waiting = [cited for cited in self.waiting if cited.end > self._length]
        return [self._delta(cited) for cited in due]

    def rest(self) -> Deltas:
        """The citations that remain at the end: those whose offsets need the whole text, and those still waiting."""
        waiting, self.waiting = self.waiting, []
        text = "".join(self._texts) if self._supports or self._sources else ""
        for cited in (*self._gemini(text), *self._markers(text)):
            self._add(waiting, cited)
        return [self._delta(cited._replace(end=min(cited.end, self._length))) for cited in waiting]

    def _read_annotation(self, annotation: Json) -> None:
        nested = annotation.get("url_citation")
        flat = nested if isinstance(nested, dict) else annotation
        if annotation.get("type") != "url_citation" or not isinstance(flat.get("url"), str):
            self.left_out += 1
            return
        start, end = count(flat, "start_index"), count(flat, "end_index")
        if end <= start:
            start = end = self._length
        self._add(self.waiting, _Cited(_page(flat["url"], flat.get("title"), flat), start, end))

    def _add(self, citations: list[_Cited], cited: _Cited) -> None:
        key = (encode(cited.page), cited.start, cited.end)
        if key not in self._seen:
            self._seen.add(key)
            citations.append(cited)

    def _read_sources(self, urls: Any, results: Any) -> None:
        titles = {page["url"]: page.get("title") for page in objects(results) if isinstance(page.get("url"), str)}
        if isinstance(urls, list):
            self._sources = [_page(as_text(url), titles.get(str(url))) for url in urls]

    def _markers(self, text: str) -> list[_Cited]:
        """The citations of Perplexity, from the markers in the text."""
        citations = [
            _Cited(self._sources[int(marker[1]) - 1], marker.start(), marker.end())
            for marker in (_MARKER.finditer(text) if self._sources else ())
            if 0 < int(marker[1]) <= len(self._sources)
        ]
        cited = {page["url"] for page, _, _ in citations}
        self.left_out += sum(1 for page in self._sources if page["url"] not in cited)
        return [entry for entry in citations if entry.page["url"]]

    def _gemini(self, text: str) -> list[_Cited]:
        """The citations of Gemini, segment by segment."""
        citations = []
        encoded = text.encode()
        for metadata in self._supports:
            chunks = objects(metadata.get("groundingChunks"))
            for support in objects(metadata.get("groundingSupports")):
                segment = _segment(support.get("segment"), text, encoded)
                indices = support.get("groundingChunkIndices")
                for index in indices if isinstance(indices, list) else ():
                    web = chunks[index].get("web") if type(index) is int and 0 <= index < len(chunks) else None
                    if segment is None or not isinstance(web, dict) or not isinstance(web.get("uri"), str):
                        self.left_out += 1
                    else:
                        citations.append(_Cited(_page(web["uri"], web.get("title")), *segment))
        return citations

    def _delta(self, cited: _Cited) -> Delta:
        return AnnotationAdded(cited.page, self._length - min(cited.start, cited.end), self._length - cited.end)


def _page(url: str, title: Any, extras: Json | None = None) -> Json:
    """An annotation without offsets. It has every field: strict clients fail at a citation that lacks one."""
    return {**(extras or {}), "type": "url_citation", "url": url, "title": as_text(title)}


def _segment(segment: Any, text: str, encoded: bytes) -> tuple[int, int] | None:
    """The start and end of the segment in characters. Its offsets are used only where they lead to its own text."""
    if not isinstance(segment, dict):
        return None
    first, last, cited = count(segment, "startIndex"), count(segment, "endIndex"), segment.get("text")
    try:
        start, within = len(encoded[:first].decode()), encoded[first:last].decode()
    except UnicodeDecodeError:  # within a character
        start, within = 0, ""
    if within and cited in (within, None):
        return start, start + len(within)
    if isinstance(cited, str) and cited and text.count(cited) == 1:
        return text.index(cited), text.index(cited) + len(cited)
    return None
