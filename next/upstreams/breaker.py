"""Leaves an upstream alone that is not there: outages in a row open the breaker; after a pause one turn tries."""

import time

from ..types.problems import Problem
from .port import UpstreamError

_PAUSE = 30
"""Seconds."""


class Breaker:
    """The breaker of one upstream."""

    def __init__(self, most: int) -> None:
        """`most`: outages in a row that open it; 0: none do."""
        self._most = most
        self._outages = 0
        self._opened = 0.0
        self._cause = ""

    @property
    def is_open(self) -> bool:
        """Whether the upstream is left alone, or tried."""
        return 0 < self._most <= self._outages

    def check(self) -> None:
        """Raises `UpstreamError` where no turn may ask. Who may ask after the pause is the only one until the next."""
        if not self.is_open:
            return
        now = time.monotonic()
        left = self._opened + _PAUSE - now
        if left <= 0:
            self._opened = now
            return
        words = "The model's server failed again and again, and is left alone for a while."
        raise UpstreamError(Problem(code="overloaded", message=words, retry_after=int(left) + 1), self._cause)

    def failed(self, error: UpstreamError) -> None:
        """An ask was refused. A refusal of a server that is there ends the row."""
        if not error.outage:
            return self.answered()
        self._outages += 1
        self._cause = error.cause
        self._opened = time.monotonic()
        return None

    def answered(self) -> None:
        """An ask was answered."""
        self._outages = 0
