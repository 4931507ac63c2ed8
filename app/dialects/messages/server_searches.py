"""Searches of the web that the model's own server makes, and the pages that its text cites.

A search is two blocks: the call with its query, and the result, in which the pages are encrypted. Both go back in the
next turn as they came. A client is shown one item, with the query and the addresses of the pages.
"""

from typing import Any, Final

import msgspec

from ...emitter.deltas import Delta, ProviderStateAdded, SearchMade
from ...prompt.sealed_state import SEARCHES
from ..surrogates import SurrogateJoiner, mended, mended_all
from .block_state import BLOCKS

Json = dict[str, Any]

SEARCH: Final = "web_search"
MOST_URLS: Final = 100
"""Addresses of one search that are shown."""


class OpenSearchCall:
    """The call of a search. It is shown with its result."""

    def __init__(self, block: Json) -> None:
        self.written = 0
        self.id = str(block.get("id"))
        self._block: Json = {key: mended_all(block[key]) for key in ("id", "name", "input") if key in block}
        self.size = len(msgspec.json.encode(self._block))
        self._joiner = SurrogateJoiner()
        self._pieces: list[str] = []

    def begin(self) -> list[Delta]:
        """Nothing is shown yet."""
        return []

    def add(self, delta: Json) -> list[Delta] | None:
        """More of the query."""
        text = delta.get("partial_json")
        if delta.get("type") != "input_json_delta" or not isinstance(text, str):
            return None
        self.written += len(text)
        self._pieces.append(self._joiner.add(text))
        return []

    def end(self) -> list[Delta]:
        """Nothing is shown yet."""
        return []

    @property
    def block(self) -> Json:
        """The whole block."""
        return {"type": "server_tool_use", **self._block, "input": self._input}

    @property
    def query(self) -> str:
        """What is searched for."""
        query = self._input.get("query")
        return query if isinstance(query, str) else ""

    @property
    def _input(self) -> Json:
        try:
            read = msgspec.json.decode("".join(self._pieces) or "{}")
        except (msgspec.DecodeError, RecursionError):
            read = None
        given = self._block.get("input")
        return read if isinstance(read, dict) and read else given if isinstance(given, dict) else {}


class OpenSearchResult:
    """What a search found. It comes whole."""

    def __init__(self, block: Json, call: OpenSearchCall, *, keeps_state: bool) -> None:
        self.written = 0
        self._content = mended_all(block.get("content"))
        self.size = len(msgspec.json.encode(self._content))
        self._call = call
        self._keeps_state = keeps_state

    def begin(self) -> list[Delta]:
        """Both blocks as state, and the search."""
        pages = self._content if isinstance(self._content, list) else []
        urls = [page["url"] for page in pages if isinstance(page, dict) and isinstance(page.get("url"), str)]
        made = SearchMade(self._call.query, tuple(urls[:MOST_URLS]), failed=not isinstance(self._content, list))
        if not self._keeps_state:
            return [made]
        result = {"type": "web_search_tool_result", "tool_use_id": self._call.id, "content": self._content}
        return [ProviderStateAdded({BLOCKS: [self._call.block, result], SEARCHES: 1}), made]

    def add(self, delta: Json) -> list[Delta] | None:  # noqa: ARG002 — it has no parts
        """It has no more parts."""
        return None

    def end(self) -> list[Delta]:
        """Nothing."""
        return []


def cited_page(citation: Any) -> Json | None:
    """The annotation for a citation, without its place in the text; None if it is not about a page of the web."""
    url = citation.get("url") if isinstance(citation, dict) else None
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        return None
    title = citation.get("title")
    return {"type": "url_citation", "url": mended(url), "title": mended(title) if isinstance(title, str) else ""}
