"""The times in which the store cannot be used: counted, and logged once each."""

import logging
import time

log = logging.getLogger("am_proxy")


class Outages:
    """The outages of the store at this address."""

    def __init__(self, store: str) -> None:
        self.number = 0
        self.decided_alone = 0
        """Turns for which this process applied its own limits."""
        self._store = store
        self._since: float | None = None

    def begin(self, reason: str) -> None:
        """The store cannot be used. Logged once, until `end`."""
        if self._since is None:
            self._since = time.monotonic()
            self.number += 1
            self._log("unreachable", f"{reason}. Each process applies its own limits until that changes", cause=reason)

    def end(self) -> None:
        """The store can be used."""
        if self._since is not None:
            seconds, self._since = time.monotonic() - self._since, None
            self._log("reachable", f"can be used again, after {seconds:.1f} s")

    def _log(self, state: str, words: str, **more: str) -> None:
        fields = {"store": self._store, "state": state, **more}
        log.warning("limit store", extra={"fields": fields, "words": f"the store of limits at {self._store} {words}"})
