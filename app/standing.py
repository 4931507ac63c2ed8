"""How an upstream stands: whether it is worth asking, and whether it may be asked once more.

Theory of operation
-------------------
A breaker counts failures in a row (not reached, silent, a status of 5xx, nonsense) before the first payload. Refusals
that any healthy server gives are no failures.

    closed       every turn asks
    open         nobody does, for a while: waiting for a dead server helps no one
    half-open    one turn tries; if it is answered the breaker closes, otherwise it opens again

Asking again costs a token. Every turn earns a tenth of one, so that an upstream in trouble gets a tenth more work at
most, beside a few at the beginning.
"""

import logging
import time
from collections.abc import Callable
from typing import Final, Literal

log = logging.getLogger("am_proxy")

State = Literal["closed", "open", "half-open"]

EARNED: Final = 0.1
MOST: Final = 5.0


class Standing:
    """One upstream's, in this process."""

    def __init__(
        self,
        name: str = "",
        *,
        retries: int = 0,
        failures: int = 0,
        pause: float = 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state: State = "closed"
        self.retries = retries
        """How often one turn may be asked again."""
        self._name = name
        self._most = failures
        self._pause = pause
        self._clock = clock
        self._failed = 0
        self._opened = 0.0
        self._tokens = MOST

    def enter(self) -> float:
        """A turn wants to ask. Nought if it may; otherwise the seconds after which it is worth another try."""
        self._tokens = min(MOST, self._tokens + EARNED)
        if self.state == "closed":
            return 0
        wait = self._opened + self._pause - self._clock()
        if self.state == "open" and wait <= 0:
            self._become("half-open")
            return 0
        return max(wait, 1)

    def heard(self) -> None:
        """It answered, if only by refusing."""
        self._failed = 0
        if self.state != "closed":
            self._become("closed")

    def failed(self) -> None:
        """It did not."""
        self._failed += 1
        if self.state == "half-open" or (self.state == "closed" and 0 < self._most <= self._failed):
            self._opened = self._clock()
            self._become("open")

    def left(self) -> None:
        """Nobody waited for it to answer. If that was the one turn that tried, another may."""
        if self.state == "half-open":
            self.state = "open"

    def may_ask_again(self) -> bool:
        """Whether there is a token left; it is spent."""
        if self._tokens < 1 or self.state != "closed":
            return False
        self._tokens -= 1
        return True

    def _become(self, state: State) -> None:
        self.state = state
        fields = {"upstream": self._name, "breaker": state, "failures": self._failed}
        log.warning("upstream", extra={"fields": fields})
