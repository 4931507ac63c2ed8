"""The search of the web that a client offers as a hosted tool, and the model's own server runs."""

from collections.abc import Iterable
from typing import Any, Final

from ..protocol.request.tools import Tool
from ..protocol.warnings import ClientWarning
from .nouns import WebSearch

_MEMBERS: Final = frozenset({"type", "filters", "search_context_size", "user_location", "external_web_access"})
"""No server is told of `external_web_access`, which Codex sends with each request."""
_FILTERS: Final = frozenset({"allowed_domains", "blocked_domains"})


def hosted_search(tools: Iterable[Tool], most: int | None) -> tuple[WebSearch | None, list[ClientWarning]]:
    """The first of these searches, with warnings about members that nobody honours. `most`: `max_tool_calls`."""
    tool = next(iter(tools), None)
    if tool is None:
        return None, []
    extras = tool.model_extra or {}
    size, location, filters = (extras.get(name) for name in ("search_context_size", "user_location", "filters"))
    filters = filters if isinstance(filters, dict) else {}
    if isinstance(location, dict):
        location = {key: value for key, value in location.items() if key != "type" and value is not None}
    lost = [name for name, value in extras.items() if name not in _MEMBERS and value not in (None, ["text"])]
    lost += [f"filters.{name}" for name, value in filters.items() if name not in _FILTERS and value]
    search = WebSearch(
        domains=_names(filters.get("allowed_domains")),
        blocked=_names(filters.get("blocked_domains")),
        most=most,
        context_size=size if isinstance(size, str) else None,
        location=location if isinstance(location, dict) else None,
    )
    return search, [without_effect(name) for name in lost]


def without_effect(member: str) -> ClientWarning:
    """The warning about a member of the tool that is not honoured."""
    name = member[:64]
    return ClientWarning("tools", "web_search", f"'{name}' of 'web_search' has no effect on this model's search.")


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
