"""Log lines about upstreams that fail: one when an outage begins, one when the upstream answers again.

Theory of operation
-------------------
Failures are told apart by their upstream and the kind of their cause. A cause that lasts (`LASTING`), such as a refused
connection, gives a warning when it begins; later failures of this kind are only counted, until an answer ends the
outage and one more line says how long it was. Any other cause depends on the request, such as an input that is too
long: nothing shows that it is over, so a warning may follow the last one after `QUIET` seconds.

Nor does an outage give more than one warning in `QUIET` seconds: an upstream may serve one model and fail with another.

The number of entries is that of the configured upstreams, multiplied by the kinds.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..upstreams.causes import LASTING, Cause, CauseKind

log = logging.getLogger("am_proxy")

QUIET: Final = 60.0
"""Seconds between two warnings about the same kind of failure of an upstream."""
UNLOGGED: Final[frozenset[CauseKind]] = frozenset({"request"})
"""Kinds that are no failures of the upstream: the client is told all there is to know."""
OF_CALLERS_KEY: Final[frozenset[CauseKind]] = frozenset({"key", "quota", "busy"})
"""Kinds that do not last where each caller sends a key of its own."""


class Asked(NamedTuple):
    """The upstream of a request, as the log names it."""

    name: str
    address: str
    """As it may be shown; empty if it is not known."""
    callers_key: bool = False
    """Whether the upstream is sent the key of the caller."""

    @property
    def title(self) -> str:
        """The word "upstream", its name if it has one of its own, and its address."""
        named = "upstream" if self.name == "upstream" else f"upstream {self.name}"  # that of `--upstream` has none
        return f"{named} at {self.address}" if self.address else named


@dataclass
class _Failures:
    """The failures of one kind of one upstream."""

    lasts: bool
    cause: Cause
    since: float = 0
    """When the running outage began."""
    count: int = 0
    """Requests that failed in it; for a cause that does not last: since the last warning."""
    warned_at: float | None = None
    is_logged: bool = False
    """Whether the running outage was in a warning."""
    unlogged: int = 0
    """Requests that failed in outages without a warning."""


class UpstreamLog:
    """What failed at each upstream, and when it was logged. One for the process, used on its event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[tuple[str, CauseKind], _Failures] = {}

    def follow(self, names: Collection[str]) -> None:
        """Forget upstreams that are not configured any more."""
        for key in [key for key in self._failures if key[0] not in names]:
            del self._failures[key]

    def failed(self, asked: Asked, cause: Cause, request_id: str = "") -> None:
        """Records that a request failed, with a warning if it is the first of its kind."""
        if cause.kind in UNLOGGED:
            return
        now = self._clock()
        lasts = cause.kind in LASTING and not (asked.callers_key and cause.kind in OF_CALLERS_KEY)
        failures = self._failures.setdefault((asked.name, cause.kind), _Failures(lasts, cause))
        failures.lasts, failures.cause = lasts, cause
        if not failures.count:
            failures.since = now
        failures.count += 1
        if failures.is_logged and lasts:
            return
        if failures.warned_at is not None and now < failures.warned_at + QUIET:
            return
        more = failures.unlogged + failures.count - 1
        failures.warned_at, failures.is_logged, failures.unlogged = now, lasts, 0
        if not lasts:
            failures.count = 0
        fields: dict[str, Any] = {"upstream": asked.name, "address": asked.address, "kind": cause.kind}
        fields["cause"] = cause.words
        words = f"{asked.title} {cause.sentence}"
        if more:
            fields["more"] = more
            words += f" ({_requests(more)} more failed so since the last warning)"
        _warn("upstream fails", fields, words, request_id)

    def left_alone(self, asked: Asked) -> Cause | None:
        """Counts a request that was not sent because of a running outage; the cause of that."""
        running = [each for each in self._of(asked) if each.lasts and each.count]
        for failures in running[:1]:
            failures.count += 1
            return failures.cause
        return None

    def answered(self, asked: Asked) -> None:
        """Ends the outages of this upstream, with a line about those that were logged."""
        running = [each for each in self._of(asked) if each.lasts and each.count]
        if not running:
            return
        now = self._clock()
        count, since, is_logged = 0, now, False
        for failures in running:
            if failures.is_logged:
                count, since, is_logged = count + failures.count, min(since, failures.since), True
                failures.warned_at = now
            else:
                failures.unlogged += failures.count
            failures.count, failures.is_logged = 0, False
        if not is_logged:
            return
        seconds = now - since
        fields = {"upstream": asked.name, "address": asked.address, "seconds": round(seconds, 1), "requests": count}
        words = f"{asked.title} answers again after {duration(seconds)}, {_requests(count)} failed"
        _warn("upstream answers again", fields, words)

    def _of(self, asked: Asked) -> list[_Failures]:
        if not self._failures:  # as nearly always
            return []
        return [failures for (name, _), failures in self._failures.items() if name == asked.name]


def duration(seconds: float) -> str:
    """A time for people: `3 min`."""
    if seconds < 60:  # noqa: PLR2004 — seconds of a minute
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:  # noqa: PLR2004 — minutes of an hour
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def _requests(count: int) -> str:
    return f"{count} request" if count == 1 else f"{count} requests"


def _warn(message: str, fields: dict[str, Any], words: str, request_id: str = "") -> None:
    extra = {"fields": fields, "words": words} | ({"request_id": request_id} if request_id else {})
    log.warning(message, extra=extra)
