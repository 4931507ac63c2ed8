"""The body of POST /v1/alpha/search, as Codex sends it. Pure.

Members that this server does not read are kept, and have no effect.
"""

from typing import Any, Final

from pydantic import Field

from ..parsing.validation import validated
from ..protocol.request.shape import Shape

UNKNOWN_COMMANDS: Final = ("open", "click", "find", "image_query", "screenshot", "finance", "weather", "sports")
"""Commands of Codex that this server does not have."""


class SearchWords(Shape):
    """A search."""

    q: str
    recency: int | None = Field(default=None, ge=0)
    """Days."""
    domains: list[str] | None = None


class OpenCommand(Shape):
    """Opens a page at a line."""

    ref_id: str
    lineno: int | None = Field(default=None, ge=0)


class ClickCommand(Shape):
    """Opens a link of a page, by its number."""

    ref_id: str
    id: int = Field(ge=0)


class FindCommand(Shape):
    """Finds words in a page."""

    ref_id: str
    pattern: str


class TimeCommand(Shape):
    """Tells the time."""

    utc_offset: str


class SearchCommands(Shape):
    """What is to be done, in any number."""

    search_query: list[SearchWords] | None = None
    open: list[OpenCommand] | None = None
    click: list[ClickCommand] | None = None
    find: list[FindCommand] | None = None
    time: list[TimeCommand] | None = None

    @property
    def unknown(self) -> list[str]:
        """The names of commands that this server does not have."""
        return [name for name in UNKNOWN_COMMANDS if getattr(self, name, None)]


class SearchFilters(Shape):
    """Which domains results may be of."""

    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class SearchSettings(Shape):
    """The settings of the client."""

    filters: SearchFilters | None = None
    user_location: dict[str, Any] | None = None


class SearchRequest(Shape):
    """The whole body."""

    id: str | None = None
    model: str = ""
    commands: SearchCommands = SearchCommands()
    settings: SearchSettings = SearchSettings()
    max_output_tokens: int | None = Field(default=None, ge=1)


def parse_search_request(raw: dict[str, Any]) -> SearchRequest:
    """The request in this object. Raises `ProblemError`, with the exact path, if it is invalid."""
    return validated(SearchRequest, raw)
