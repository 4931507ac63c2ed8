"""Frames of a websocket: those that wait for their turn, and those that events are sent in."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from app.protocol.events import Event
from app.protocol.problems import Problem
from app.protocol.warnings import ClientWarning
from app.transports import sse
from app.turns.quota import Share
from app.turns.warning_output import in_event

WAITING: Final = 64
"""Frames that may wait for their turn."""
FULL: Final = Problem(
    code="rate_limit_exceeded", message="Too many frames wait already, on this connection or in all.", retry_after=1
)
"""The error for a frame for which there is no room."""

STOPPING: Final = Problem(
    code="overloaded", message="This connection is about to end. Open another one.", retry_after=1
)
"""The error for frames that wait when the server stops."""
Warned = dict[int, Sequence[ClientWarning]]
"""The warnings in an event, by its position in the batch."""


class WaitingFrames:
    """A queue. Its bytes are taken from the caller's share, except those of a frame that is taken at once."""

    def __init__(self, share: Share, most_bytes: int) -> None:
        self._share = share
        self._most_bytes = most_bytes
        self._frames: deque[tuple[bytes, int]] = deque()
        """Each with the bytes it takes of the share."""
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


def warned(batch: Sequence[Event], first: Sequence[ClientWarning], late: Sequence[ClientWarning]) -> Warned:
    """`first` go into the first event of this batch, `late` into its last one."""
    last = len(batch) - 1
    return {0: [*first, *late]} if not last else {0: first, last: late}


def frames(batch: Sequence[Event], warnings: Warned) -> list[str]:
    """All frames of a short batch."""
    return [_text(event, warnings.get(position, ())) for position, event in enumerate(batch)]


async def frames_apart(
    batch: Sequence[Event], warnings: Warned, echoed: int, send: Callable[[str], Awaitable[None]]
) -> None:
    """Sends the frames of a long batch, each encoded after the one before it was sent."""
    for position, event in enumerate(batch):
        await send(await sse.apart(event, echoed, _text, warnings.get(position, ())))


async def at_once(events: list[Event]) -> AsyncIterator[list[Event]]:
    """These events as a single batch."""
    yield events


def _text(event: Event, warnings: Sequence[ClientWarning]) -> str:
    data = sse.data_of(event)
    return (in_event(warnings, data) if warnings else data).decode()
