"""The times of one turn that its limits are compared with: when it began, and when something was last read and sent."""

from collections.abc import Callable
from typing import Final

from ..protocol.problems import Problem
from ..upstreams.clocks import Clocks
from .failures import too_slow


class Silences:
    """How long a turn has run, and how long its upstream and this server have been silent."""

    __slots__ = ("_now", "_received_any", "_received_at", "_sent_at", "started_at")

    def __init__(self, now: Callable[[], float], started_at: float | None) -> None:
        self._now = now
        self._received_at = self._sent_at = now()
        self.started_at: Final = self._sent_at if started_at is None else started_at
        self._received_any = False

    def received(self) -> None:
        """The upstream's next payload is read."""
        self._received_at = self._now()
        self._received_any = True

    def sent(self) -> None:
        """The client is sent something."""
        self._sent_at = self._now()

    def left(self, clocks: Clocks) -> float:
        """Seconds until the next time limit, or keep-alive."""
        due = min(self._sent_at + clocks.keep_alive, self.started_at + clocks.turn)
        if self._received_any:
            due = min(due, self._received_at + clocks.idle)
        return due - self._now()

    def is_received_too_late(self, clocks: Clocks) -> bool:
        """Whether the last payload was read after the end of the turn's time."""
        return self._received_at >= self.started_at + clocks.turn

    def problem(self, clocks: Clocks) -> Problem | None:
        """The limit that has been exceeded."""
        now = self._now()
        if now >= self.started_at + clocks.turn:
            return too_slow("was still answering" if self._received_any else "did not answer", clocks.turn)
        if self._received_any and now >= self._received_at + clocks.idle:
            return too_slow("stopped talking", clocks.idle)
        return None
