"""The circuit breakers of all copies: one that opens or closes here does so in the others, and the other way round."""

from collections.abc import Callable, Mapping
from typing import Protocol

from .store_batch import hashed


class SharedBreaker(Protocol):
    """The breaker of one upstream in this copy."""

    tell: Callable[[bool], None] | None
    """Called with whether it is open, when this copy has opened or closed it."""

    @property
    def open_for(self) -> float | None:
        """Seconds since it was opened; None: it is closed."""

    def follow(self, open_for: float | None) -> None:
        """It was opened so many seconds ago, by any copy; None: it is closed in all."""


class SharedBreakers:
    """What this copy tells the others about its breakers, and what it hears."""

    def __init__(self, call_soon: Callable[[], None]) -> None:
        self.news: dict[str, float | None] = {}
        """Upstream, hashed -> seconds since its breaker was opened, None if it was closed; what is to be told."""
        self._call_soon = call_soon
        self._breakers: dict[str, SharedBreaker] = {}
        self._heard: set[str] = set()
        """The upstreams whose breakers were open in the last reply."""

    def watch(self, breakers: Mapping[str, SharedBreaker]) -> None:
        """Shares these breakers, by their upstreams, and no others any more."""
        for breaker in self._breakers.values():
            breaker.tell = None
        self._breakers = {hashed(f"upstream:{name}"): breaker for name, breaker in breakers.items()}
        self._heard = set()
        for upstream, breaker in self._breakers.items():
            breaker.tell = self._teller(upstream)

    def take_news(self) -> dict[str, float | None]:
        """What is to be told, which counts as told from now on."""
        news, self.news = self.news, {}
        return news

    def repeat(self) -> None:
        """Tells a store that may have forgotten it which breakers are open, and since when."""
        open_for = {upstream: breaker.open_for for upstream, breaker in self._breakers.items()}
        self.news |= {upstream: seconds for upstream, seconds in open_for.items() if seconds is not None}

    def hear(self, open_for: Mapping[str, float]) -> None:
        """Which breakers are open, by the reply to all that was told: upstream -> seconds since then."""
        for upstream in self._heard | open_for.keys():
            breaker = self._breakers.get(upstream)
            if breaker is not None and upstream not in self.news:
                breaker.follow(open_for.get(upstream))
        self._heard = set(open_for)

    def _teller(self, upstream: str) -> Callable[[bool], None]:
        def tell(is_open: bool) -> None:  # noqa: FBT001 — it is all that is told
            self.news[upstream] = 0.0 if is_open else None
            self._call_soon()

        return tell
