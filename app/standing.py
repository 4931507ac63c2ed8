"""How an upstream stands: whether it is worth asking, and whether it may be asked once more.

Theory of operation
-------------------
A breaker counts what goes wrong before the first payload. Refusals that any healthy server gives are no failures.
There are two kinds of failures:

    outage       says nothing about the single request: not reached, silent, 502, 503, 504, 529. As many in a row as
                 are configured open the breaker.
    failure      may be due to the request: any other 5xx, nonsense, a connection that broke. One caller can cause
                 any number of them with one picture. They open the breaker only where there are as many among the
                 last turns and they are most callers' last word: at least three callers, and more than half of all
                 that asked lately.

    closed       every turn asks
    open         nobody does, for a while: waiting for a dead server helps no one
    half-open    one turn tries; if it is answered, even by a failure, the breaker closes; an outage opens it again

Asking again costs a token. Every turn earns a tenth of one, so that an upstream in trouble gets a tenth more work at
most, beside a few at the beginning.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Literal

log = logging.getLogger("am_proxy")

State = Literal["closed", "open", "half-open"]

EARNED: Final = 0.1
MOST: Final = 5.0
MOST_REMEMBERED: Final = 200
"""Turns of which it is remembered how they went."""
CALLERS: Final = 3
"""How many callers must have failed before what may be due to their requests is taken for the server's."""


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
        self._outages = 0
        self._recent: deque[tuple[str, bool]] = deque(maxlen=min(2 * failures, MOST_REMEMBERED))
        """Of the last turns: whose it was, and whether it failed."""
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

    def heard(self, owner: str = "") -> None:
        """It answered this caller, if only by refusing."""
        self._outages = 0
        self._recent.append((owner, False))
        if self.state != "closed":
            self._become("closed")

    def failed(self, owner: str = "", *, outage: bool) -> None:
        """It did not answer this caller, or not as it must."""
        self._recent.append((owner, True))
        if outage:
            self._outages += 1
            opens = 0 < self._most <= self._outages
        else:
            opens = self._fails_most_callers()
            if self.state == "half-open":  # it was reached
                self._outages = 0
                self._become("closed")
        if (self.state == "half-open" and outage) or (self.state == "closed" and opens):
            self._opened = self._clock()
            self._recent.clear()
            self._become("open")

    def _fails_most_callers(self) -> bool:
        last = dict(self._recent)  # of each caller the last turn
        callers = sum(last.values())
        failures = sum(failed for _, failed in self._recent)
        enough = 0 < min(self._most, MOST_REMEMBERED // 2) <= failures
        return enough and callers >= CALLERS and 2 * callers > len(last)

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
        fields = {"upstream": self._name, "breaker": state, "failures": self._outages}
        log.warning("upstream", extra={"fields": fields})
