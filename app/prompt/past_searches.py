"""Searches of earlier answers, for a model for which this server searches: calls of its functions, and their outputs.

Told as text of the assistant, they would teach the model to write such text instead of calling the functions.
"""

from typing import Any, Final, NamedTuple

import msgspec

from ..bridges.base import PastCall
from ..protocol.request.input_items import UnknownItem
from .own_search import OwnSearch

KIND: Final = "web_search_call"
MOST_PAGES: Final = 20
"""Pages that are told of one search."""
LONGEST: Final = 8_000
"""Characters of an output."""
FORGOTTEN: Final = "What this search found is not known any more."
ONLY_ADDRESSES: Final = "Of what was found, only the addresses are known now:"
CLOSED: Final = "The page was opened for an earlier answer. Its text is not known any more."
FAILED: Final = "It failed."


class PastSearch(NamedTuple):
    """A call of an earlier answer, and its output."""

    call: PastCall
    output: str
    failed: bool


def past_search(item: UnknownItem, search: OwnSearch) -> PastSearch | None:
    """The call in this item; None if it does not say what was wanted, or the model has no function for that."""
    extras = item.model_extra or {}
    action = extras.get("action")
    if item.type != KIND or not isinstance(action, dict):
        return None
    failed = extras.get("status") == "failed"
    page = _text(action.get("url"))
    if action.get("type") in {"open_page", "find_in_page"} and page and search.page_spec is not None:
        words = _text(action.get("pattern"))
        arguments = {"url": page, **({"find": words} if words else {})}
        name, output = search.page_spec.name, CLOSED
    elif query := _text(action.get("query")) or _joined(action.get("queries")):
        arguments = {"query": query}
        name, output = search.spec.name, _found(extras.get("results"), action.get("sources"))
    else:
        return None
    call = PastCall(_text(extras.get("id")), name, msgspec.json.encode(arguments).decode())
    return PastSearch(call, FAILED if failed else output, failed)


def _found(results: Any, sources: Any) -> str:
    """What a search found, as far as the client has kept it."""
    if pages := _pages(results):
        lines = [each for page in pages for each in (page.get("title"), page["url"], page.get("snippet"))]
    elif pages := _pages(sources):
        lines = [ONLY_ADDRESSES, *(page["url"] for page in pages)]
    else:
        return FORGOTTEN
    text = "\n".join(filter(None, map(_text, lines)))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _pages(value: Any) -> list[dict[str, Any]]:
    entries = value[:MOST_PAGES] if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and _text(entry.get("url"))]


def _joined(queries: Any) -> str:
    return ", ".join(filter(None, map(_text, queries[:MOST_PAGES]))) if isinstance(queries, list) else ""


def _text(value: Any) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""
