"""The search that this server runs for a model: the function that the model calls, and what it may search."""

from typing import Any, Final

import msgspec

from ..bridges.base import FunctionSpec
from ..protocol.warnings import ClientWarning
from .nouns import WebSearch

NAMES: Final = ("web_search", "search_the_web", "am_search_the_web")
"""Names of the function. The first one that the client's own functions do not have is used."""
DESCRIPTION: Final = (
    "Searches the web. Returns the titles and addresses of pages, and parts of their texts. Use it for what may have "
    "changed, and for what you do not know. In the answer, cite each page that you used as a Markdown link to its "
    "address: [title](address)."
)
PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to search for."},
        "recency_days": {"type": "integer", "description": "Only pages of so many last days. Omit it for all."},
    },
    "required": ["query"],
    "additionalProperties": False,
}
SOURCES: Final = "web_search_call.action.sources"
"""Of `include`: the addresses that a search has found, which are always shown."""
NO_PLACE: Final = "'user_location' of 'web_search' has no effect on this server's search."
NO_TOOLS: Final = "'web_search' was left out: this model cannot call tools, and so cannot use this server's search."
SIZES: Final = {"low": 0.5, "high": 2.0}
"""The number of results, as a multiple of the usual one, for each `search_context_size`."""


class OwnSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The search of one turn."""

    spec: FunctionSpec
    domains: tuple[str, ...]
    """The only domains of which pages are wanted; empty for all."""
    blocked: tuple[str, ...]
    """Domains of which no pages are wanted."""
    share: float
    """The number of results, as a multiple of the usual one."""
    most: int
    """Searches of one answer."""


def own_search(
    wanted: WebSearch, functions: list[FunctionSpec], most: int, *, calls_tools: bool
) -> tuple[OwnSearch | None, list[ClientWarning]]:
    """The search for a client that wants one; None if the model cannot call its function."""
    if not calls_tools:
        return None, [ClientWarning("tools", "web_search", NO_TOOLS)]
    taken = {spec.name for spec in functions}
    name = next((name for name in NAMES if name not in taken), NAMES[-1])
    spec = FunctionSpec(name=name, description=DESCRIPTION, parameters=PARAMETERS)
    warnings = [ClientWarning("tools", "user_location", NO_PLACE)] if wanted.location else []
    share = SIZES.get(wanted.context_size or "", 1.0)
    most = most if wanted.most is None else min(most, wanted.most)
    search = OwnSearch(spec=spec, domains=wanted.domains, blocked=wanted.blocked, share=share, most=most)
    return search, warnings
