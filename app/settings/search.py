"""The table of the web search: which server searches, and how much."""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..options import Table
from .secret import Secret
from .values import Seconds, address

QUERY: Final = "{query}"
"""What stands for the query in the address of a search server that is not known here."""
SearchBackend = Literal["none", "searxng", "brave", "exa", "tavily", "url"]


def _search_address(url: str) -> str:
    """An address, which may end with a query; or an empty text."""
    before, mark, query = url.partition("?")
    if not mark:
        return url and address(url)
    if not query.isprintable() or " " in query or "#" in query:
        message = "must not hold spaces, control characters or #"
        raise ValueError(message)
    return f"{address(before)}?{query}"


def _header_name(name: str) -> str:
    if not (name.isascii() and name.replace("-", "").isalnum()):
        message = "must be the name of a header: letters, digits and -"
        raise ValueError(message)
    return name


class Search(Table):
    """The web search for clients and models: see docs/search.md."""

    backend: SearchBackend = "none"
    """Which server searches: a SearXNG, Brave, Exa, Tavily, or any other one by its `url`; none: this server searches
    nothing."""
    base_url: Annotated[str, AfterValidator(_search_address)] = ""
    """Its address. SearXNG needs it: `http://127.0.0.1:8888`. For `url` it is that of one search, with `{query}` and
    perhaps `{count}` in it: `https://search.example.com/api?q={query}&n={count}`."""
    api_key: Secret | None = None
    """Its API key. Brave, Exa and Tavily need one."""
    key_header: Annotated[str, AfterValidator(_header_name)] = "authorization"
    """The header with the key, for `url`; `authorization`: as `Bearer` and the key."""
    results_path: Annotated[str, Field(max_length=200)] = "results"
    """Where the list of results is in its JSON, for `url`: `data.items`; empty: the JSON is the list."""
    results: int = Field(default=5, ge=1, le=20)
    """Largest number of results of one search."""
    timeout: Seconds = 10
    """Seconds for one search."""
    max_searches: int = Field(default=5, ge=1, le=50)
    """Largest number of searches of one answer, for models with `search = true`."""
    max_pages: int = Field(default=5, ge=0, le=50)
    """Largest number of web pages that are opened for one answer of such a model; 0: none."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        message = ""
        if self.backend == "searxng" and not self.base_url:
            message = 'backend = "searxng" needs a base_url'
        elif self.backend == "url" and QUERY not in self.base_url:
            message = f'backend = "url" needs a base_url with {QUERY} in it'
        elif self.backend in {"brave", "exa", "tavily"} and self.api_key is None:
            message = f'backend = "{self.backend}" needs an api_key'
        elif self.backend == "none" and (self.base_url or self.api_key):
            message = "needs a backend: the server that searches"
        if message:
            raise ValueError(message)
        return self
