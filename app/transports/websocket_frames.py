"""Frames of a websocket: the queue of received ones, and the encoding of events as frames to send."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.warnings import ClientWarning
from ..turns.quota import Share
from ..turns.warning_output import in_event
from . import sse

WAITING: Final = 64
"""The most frames that may wait for their turn."""
FULL: Final = Problem(
    code="rate_limit_exceeded", message="Too many frames are waiting, on this connection or in all.", retry_after=1
)
"""The error for a frame for which there is no room."""
STOPPING: Final = Problem(code="overloaded", message="This connection is closing. Open another one.", retry_after=1)
"""The error for frames that wait when the server stops."""
WarningsByPosition = dict[int, Sequence[ClientWarning]]
"""The warnings in an event, by its position in the batch."""


class WaitingFrames:
    """A queue of frames. Their bytes are taken from the caller's share, except if a turn can start at once."""

    def __init__(self, share: Share, most_bytes: int) -> None:
        self._share = share
        self._most_bytes = most_bytes
        self._frames: deque[tuple[bytes, int]] = deque()
        """Each with the bytes that are taken from the share for it."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frame: bytes, *, waits: bool) -> bool:
        """Adds a frame; False if there is no room. `waits`: a turn is running, so the frame must wait."""
        size = len(frame)
        if len(self._frames) >= WAITING or (self._frames and self._bytes + size > self._most_bytes):
            return False
        counted = size if waits or self._frames else 0
        if counted and not self._share.take(counted):
            return False
        self._frames.append((frame, counted))
        self._bytes += size
        return True

    def pop(self) -> bytes:
        """Removes and returns the next frame."""
        frame, counted = self._frames.popleft()
        self._bytes -= len(frame)
        if counted:
            self._share.give_back(counted)
        return frame

    def clear(self) -> None:
        """Removes all frames."""
        while self._frames:
            self.pop()


def warnings_by_position(
    batch: Sequence[Event], first: Sequence[ClientWarning], late: Sequence[ClientWarning]
) -> WarningsByPosition:
    """The warnings of a batch: `first` in its first event, `late` in its last one."""
    last = len(batch) - 1
    return {0: [*first, *late]} if not last else {0: first, last: late}


def frames(batch: Sequence[Event], warnings: WarningsByPosition) -> list[str]:
    """The frames of a short batch."""
    return [_text(event, warnings.get(position, ())) for position, event in enumerate(batch)]


async def send_one_by_one(
    batch: Sequence[Event], warnings: WarningsByPosition, echoed: int, send: Callable[[str], Awaitable[None]]
) -> None:
    """Sends the frames of a long batch, each encoded after the one before it was sent."""
    for position, event in enumerate(batch):
        await send(await sse.encode_one(event, echoed, _text, warnings.get(position, ())))


def _text(event: Event, warnings: Sequence[ClientWarning]) -> str:
    data = sse.data_of(event)
    return (in_event(warnings, data) if warnings else data).decode()
