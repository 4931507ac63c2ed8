"""The table of the web search: which server searches, and how much."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..options import Table
from .secret import Secret
from .values import Seconds, address

SearchBackend = Literal["none", "searxng", "brave", "exa", "tavily"]


class Search(Table):
    """The web search for Codex: see docs/search.md."""

    backend: SearchBackend = "none"
    """Which server searches: a SearXNG, Brave, Exa or Tavily; none: this server searches nothing."""
    base_url: Annotated[str, AfterValidator(lambda url: url and address(url))] = ""
    """Its address. SearXNG needs it: `http://127.0.0.1:8888`."""
    api_key: Secret | None = None
    """Its API key. Brave, Exa and Tavily need one."""
    results: int = Field(default=5, ge=1, le=20)
    """Largest number of results of one search."""
    timeout: Seconds = 10
    """Seconds for one search."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        message = ""
        if self.backend == "searxng" and not self.base_url:
            message = 'backend = "searxng" needs a base_url'
        elif self.backend in {"brave", "exa", "tavily"} and self.api_key is None:
            message = f'backend = "{self.backend}" needs an api_key'
        elif self.backend == "none" and (self.base_url or self.api_key):
            message = "needs a backend: the server that searches"
        if message:
            raise ValueError(message)
        return self
