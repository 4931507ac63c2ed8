"""Frames of a websocket that came while a turn runs: few, no longer together than one may be, and counted."""

from collections import deque
from typing import Final

from app.protocol.problems import Problem
from app.turns.quota import Share

WAITING: Final = 64
"""Frames that may wait for their turn."""
FULL: Final = Problem(
    code="rate_limit_exceeded", message="Too many frames wait already, on this connection or in all.", retry_after=1
)
"""What is said of a frame for which there is no room."""

STOPPING: Final = Problem(
    code="overloaded", message="This connection is about to end. Open another one.", retry_after=1
)
"""What is said of those that wait when the server stops."""


class WaitingFrames:
    """A queue. Its bytes are taken from the caller's share, but for a frame that somebody is about to take."""

    def __init__(self, share: Share, most_bytes: int) -> None:
        self._share = share
        self._most_bytes = most_bytes
        self._frames: deque[tuple[bytes, int]] = deque()
        """Each with what it holds of the share."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frame: bytes, *, waits: bool) -> bool:
        """Whether there is room for one more, which then is kept. `waits` says whether a turn runs now."""
        size = len(frame)
        if len(self._frames) >= WAITING or (self._frames and self._bytes + size > self._most_bytes):
            return False
        held = size if waits or self._frames else 0
        if held and not self._share.take(held):
            return False
        self._frames.append((frame, held))
        self._bytes += size
        return True

    def pop(self) -> bytes:
        """The next one."""
        frame, held = self._frames.popleft()
        self._bytes -= len(frame)
        if held:
            self._share.give_back(held)
        return frame

    def clear(self) -> None:
        """The connection has ended."""
        while self._frames:
            self.pop()
