"""The circuit breaker of an upstream: whether a turn may ask it, and whether it may ask it again.

Theory of operation
-------------------
A breaker counts what goes wrong before the first payload. A refusal that a healthy server also sends is
not a failure. There are three kinds of failures:

    unreached    no connection could be made. No request can cause that, so those of all callers count. As many in
                 a row as are configured open the breaker.
    unavailable  silence, 502, 503, 504, 529. A slow prompt is silence too, and a gateway sends 503 for a model that
                 it does not know. As many outages (of these two kinds) in a row as are configured open the breaker, if
                 most of the models that were asked lately fail. On a server with several callers, an outage counts
                 for each caller up to half of that number, and at least two callers must have had one.
    failed       may be due to the request: any other 5xx, an answer that cannot be read, a connection that broke.
                 They open the breaker only if there are as many among the last turns and if the last turn of most
                 callers failed so: of at least three callers, and of more than half of all that asked lately.

    closed       every turn asks
    open         no turn asks for a while: it would wait for a server that does not answer
    half-open    each caller may try with one turn at a time; a try that lasts longer than `TRIAL` seconds no longer
                 keeps the caller from another one. Any answer, even a failure, closes the breaker.

A try that fails opens the breaker again: for all callers if the server was not reached or there is only one caller,
otherwise for the caller that tried. A caller that sends only slow prompts cannot keep the others from trying.

Asking again costs a token. Every turn adds a tenth of one for its caller, so that an upstream in trouble gets at most a
tenth more requests, in addition to a few at the beginning.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

log = logging.getLogger("am_proxy")

State = Literal["closed", "open", "half-open"]
Failure = Literal["unreached", "unavailable", "failed"]

EARNED: Final = 0.1
MOST: Final = 5.0
"""Most tokens of one caller, and the tokens at the beginning if all callers count as one."""
FIRST: Final = 1.0
"""Tokens that each of several callers begins with."""
MOST_REMEMBERED: Final = 200
"""Turns whose result is remembered."""
CALLERS: Final = 3
"""How many callers must have failed before failures that requests can cause are blamed on the server."""
OUTAGE_CALLERS: Final = 2
"""The same for outages that a request can cause, on a server with several callers."""
TRIAL: Final = 5.0
"""Seconds during which a turn that tries keeps its caller from another try."""
_WORDS: Final[dict[State, str]] = {
    "open": "failed too often, and is left alone for a while",
    "half-open": "is asked once, to see whether it answers",
    "closed": "is asked as usual again",
}


class _Recent(NamedTuple):
    owner: str
    model: str
    failed: bool


class Breaker:
    """The circuit breaker and the retry budget of one upstream, in this process."""

    def __init__(
        self,
        name: str = "",
        *,
        retries: int = 0,
        failures: int = 0,
        pause: float = 30,
        several_callers: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state: State = "closed"
        self.retries = retries
        """How often one turn may be asked again."""
        self._name = name
        self._most = failures
        self._pause = pause
        self._several_callers = several_callers
        self._clock = clock
        self._unreached = 0
        """Failures of this kind in a row, not interrupted by other outages."""
        self._outages: Counter[str] = Counter()
        """Owner -> outages since the last answer."""
        self._recent: deque[_Recent] = deque(maxlen=min(2 * failures, MOST_REMEMBERED))
        """The last turns."""
        self._opened = 0.0
        self._trials: dict[str, float] = {}
        """Owner -> when its try that still runs began."""
        self._failed_trials: dict[str, float] = {}
        """Owner -> when its last try failed, if other owners may still try."""
        self._tokens: dict[str, float] = {}
        """Owner -> tokens left."""

    @property
    def is_open(self) -> bool:
        """Whether the upstream is left alone, or tried."""
        return self.state != "closed"

    def allow(self, owner: str = "") -> float:
        """Seconds to wait before a turn of this caller may ask; 0 if it may ask now. Called once per turn."""
        self._tokens[owner] = min(MOST, self._tokens_of(owner) + EARNED)
        if self.state == "closed":
            return 0
        now = self._clock()
        wait = max(self._opened, self._failed_trials.get(owner, self._opened)) + self._pause - now
        if wait > 0:
            return max(wait, 1)
        if (began := self._trials.get(owner)) is not None and (left := began + TRIAL - now) > 0:
            return max(left, 1)
        self._trials[owner] = now
        if self.state == "open":
            self._become("half-open")
        return 0

    def success(self, owner: str = "", model: str = "") -> None:
        """Records that the upstream answered this caller, if only with a refusal."""
        self._recent.append(_Recent(owner, model, failed=False))
        self._forget_outages()
        if self.state != "closed":
            self._become("closed")

    def failure(self, owner: str = "", model: str = "", *, kind: Failure) -> None:
        """Records that the upstream did not answer this caller, or sent an invalid answer."""
        self._recent.append(_Recent(owner, model, failed=True))
        if kind != "failed":
            self._outages[owner] += 1
            self._unreached += kind == "unreached"
        match self.state:
            case "closed" if self._fails_most_callers() if kind == "failed" else self._is_unavailable():
                self._open()
            case "half-open" if owner in self._trials:
                self._trial_failed(owner, kind)
            case _:
                pass  # the turn began before the breaker opened

    def release(self, owner: str = "") -> None:
        """Ends this caller's try without a result: the turn was cancelled. Another turn of it may try."""
        self._trials.pop(owner, None)

    def may_ask_again(self, owner: str = "") -> bool:
        """Whether this caller has a token left; it is spent."""
        tokens = self._tokens_of(owner)
        if tokens < 1 or self.state != "closed":
            return False
        self._tokens[owner] = tokens - 1
        return True

    def _tokens_of(self, owner: str) -> float:
        return self._tokens.get(owner, FIRST if self._several_callers else MOST)

    def _trial_failed(self, owner: str, kind: Failure) -> None:
        """Records that a turn that tried has failed."""
        del self._trials[owner]
        if kind == "failed":  # the server was reached
            self._forget_outages()
            self._become("closed")
        elif kind == "unreached" or not self._several_callers:
            self._open()
        else:
            self._failed_trials[owner] = self._clock()

    def _is_unavailable(self) -> bool:
        """Whether the server causes the outages since the last answer, not single callers or models."""
        if self._unreached >= self._most > 0:
            return True
        outages = self._outages.total()
        if self._several_callers:
            share = (self._most + 1) // 2
            outages = sum(min(count, share) for count in self._outages.values())
            if len(self._outages) < OUTAGE_CALLERS:
                return False
        models = {turn.model: turn.failed for turn in self._recent}  # model -> its last turn
        return outages >= self._most > 0 and 2 * sum(models.values()) > len(models)

    def _fails_most_callers(self) -> bool:
        last = {turn.owner: turn.failed for turn in self._recent}  # caller -> its last turn
        callers = sum(last.values())
        failures = sum(turn.failed for turn in self._recent)
        enough = 0 < min(self._most, MOST_REMEMBERED // 2) <= failures
        return enough and callers >= CALLERS and 2 * callers > len(last)

    def _open(self) -> None:
        self._opened = self._clock()
        self._recent.clear()
        self._become("open")

    def _forget_outages(self) -> None:
        self._unreached = 0
        self._outages.clear()

    def _become(self, state: State) -> None:
        self.state = state
        if state != "half-open":
            self._trials.clear()
            self._failed_trials.clear()
        fields = {"upstream": self._name, "breaker": state, "failures": self._outages.total()}
        log.warning("upstream", extra={"fields": fields, "words": f"upstream {self._name} {_WORDS[state]}"})
