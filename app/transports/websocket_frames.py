"""Frames of a websocket: the queues of received ones, and the sending of events as frames."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from starlette.types import Send

from ..json_text import json_bytes, json_value
from ..off_loop import off_loop
from ..protocol.control_events import ControlEvent
from ..protocol.events import Event, LifecycleEvent, Relayed
from ..protocol.problems import Problem
from ..protocol.warnings import ClientWarning
from ..turns.lifecycle import ClientGoneError
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
    """A queue of frames for each lane. Their bytes are taken from the caller's share, if no turn can start at once."""

    def __init__(self, share: Share, most_bytes: int) -> None:
        self._share = share
        self._most_bytes = most_bytes
        self._frames: dict[str | None, deque[tuple[bytes, int]]] = {}
        """By lane, those that are not empty. Each frame with the bytes that are taken from the share for it."""
        self._number = 0
        self._bytes = 0

    def of(self, lane: str | None) -> bool:
        """Whether a frame of this lane waits."""
        return lane in self._frames

    @property
    def lanes(self) -> list[str | None]:
        """The lane of each frame that waits."""
        return [lane for lane, frames in self._frames.items() for _ in frames]

    def add(self, lane: str | None, frame: bytes, *, waits: bool) -> bool:
        """Adds a frame; False if there is no room. `waits`: other turns run, so the frame must wait."""
        size = len(frame)
        if self._number >= WAITING or (self._number and self._bytes + size > self._most_bytes):
            return False
        counted = size if waits or self.of(lane) else 0
        if counted and not self._share.take(counted):
            return False
        self._frames.setdefault(lane, deque()).append((frame, counted))
        self._number += 1
        self._bytes += size
        return True

    def pop(self, lane: str | None) -> bytes:
        """Removes and returns the next frame of this lane."""
        waiting = self._frames[lane]
        frame, counted = waiting.popleft()
        if not waiting:
            del self._frames[lane]
        self._number -= 1
        self._bytes -= len(frame)
        if counted:
            self._share.give_back(counted)
        return frame

    def clear(self) -> None:
        """Removes all frames."""
        for lane in self.lanes:
            self.pop(lane)


class FrameSender:
    """Sends the frames of one connection, for all its lanes: one batch after the other."""

    def __init__(self, send: Send, timeout: float) -> None:
        self._send = send
        self._timeout = timeout
        self._lock = asyncio.Lock()

    async def send(self, *frames: str) -> None:
        """Sends these frames. Raises `ClientGoneError` if the client has disconnected, or reads nothing."""
        async with self._lock:
            try:
                async with asyncio.timeout(self._timeout):
                    for frame in frames:
                        await self._send({"type": "websocket.send", "text": frame})
            except OSError:
                raise ClientGoneError from None

    async def error(self, problem: Problem, lane: str | None = None) -> None:
        """Sends an error frame."""
        error = {**problem.body()["error"], "message": problem.failed_message}
        frame = msgspec.json.encode({"type": "error", "status": problem.shape.status, "error": error})
        await self.send(_in_lane(frame, lane).decode())

    async def control(self, event: ControlEvent, lane: str | None, echoed: int) -> None:
        """Sends the answer to a control frame. `echoed`: bytes of that frame."""
        await self.send(await off_loop(echoed, control_frame, event, lane))

    async def close(self, code: int, reason: str = "") -> None:
        """Closes the connection."""
        with suppress(OSError):
            await self._send({"type": "websocket.close", "code": code, "reason": reason})


def warnings_by_position(
    batch: Sequence[Event], first: Sequence[ClientWarning], late: Sequence[ClientWarning]
) -> WarningsByPosition:
    """The warnings of a batch: `first` in its first event, `late` in its last one."""
    last = len(batch) - 1
    return {0: [*first, *late]} if not last else {0: first, last: late}


def frame_of(event: Event, warnings: Sequence[ClientWarning] = (), lane: str | None = None) -> str:
    """One event as a frame, with these warnings and the name of its lane in it."""
    data = sse.data_of(event)
    if isinstance(event, Relayed) and b'"stream_id"' in data:
        data = _without_lane(data)
    return _in_lane(in_event(warnings, data) if warnings else data, lane).decode()


def control_frame(event: ControlEvent, lane: str | None) -> str:
    """The answer to a control frame, as a frame."""
    return _in_lane(sse.escaped(json_bytes(event)), lane).decode()


class _Id(msgspec.Struct, frozen=True):
    id: str | None = None


class _Created(msgspec.Struct):
    response: _Id = _Id()


def created_id(event: Event) -> str | None:
    """The id of the response that this first event of a turn creates."""
    if isinstance(event, LifecycleEvent):
        return event.response.id
    if isinstance(event, Relayed):
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(event.data, type=_Created).response.id
    return None


def frames(batch: Sequence[Event], warnings: WarningsByPosition, lane: str | None) -> list[str]:
    """The frames of a short batch."""
    return [frame_of(event, warnings.get(position, ()), lane) for position, event in enumerate(batch)]


async def send_one_by_one(
    batch: Sequence[Event],
    warnings: WarningsByPosition,
    lane: str | None,
    echoed: int,
    send: Callable[[str], Awaitable[None]],
) -> None:
    """Sends the frames of a long batch, each encoded after the one before it was sent."""
    for position, event in enumerate(batch):
        await send(await sse.encode_one(event, echoed, frame_of, warnings.get(position, ()), lane))


def _in_lane(event: bytes, lane: str | None) -> bytes:
    """The event with the name of its lane as one more member: it has no characters that JSON escapes."""
    return event if lane is None else event[:-1] + f',"stream_id":"{lane}"}}'.encode()


def _without_lane(event: bytes) -> bytes:
    """A relayed event without an upstream's own name of a lane."""
    members = json_value(event)
    members.pop("stream_id", None)
    return json_bytes(members)
