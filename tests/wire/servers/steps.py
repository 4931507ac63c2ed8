"""What a scripted server does, step by step, and what it was asked."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Say nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """Close the connection in the middle of the body."""


@dataclass(frozen=True)
class End:
    """End the body properly, but without the wire format's last word (such as `[DONE]`)."""


@dataclass(frozen=True)
class Leave:
    """End the answer as it must, and close the connection at once although it was to be kept, as llama.cpp does."""


@dataclass(frozen=True)
class Reset:
    """Reset the connection."""


@dataclass(frozen=True)
class Hang:
    """Say nothing until the client goes away."""


@dataclass(frozen=True)
class Status:
    """Answer with this status and body instead of a stream. It is the script's only step.

    A text is sent as it is, a byte for each character.
    """

    status: int
    body: Json | bytes | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Latch:
    """Say nothing until the test calls `open()`."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self.reached = threading.Event()
        """Whether the script waits here, or has."""

    def open(self) -> None:
        """Let the script go on."""
        self._opened.set()

    @property
    def is_open(self) -> bool:
        """Whether the script may go on."""
        return self._opened.is_set()


Step = Json | bytes | Pause | Cut | End | Leave | Reset | Hang | Status | Latch


@dataclass
class Ask:
    """What the upstream was asked, and when its client went away before the answer was over."""

    path: str
    headers: dict[str, str]
    body: Json
    raw: bytes
    began: float = field(default_factory=time.monotonic)
    gone: threading.Event = field(default_factory=threading.Event)
    gone_at: float | None = None
    """`time.monotonic()` of the disconnect."""
    answered: threading.Event = field(default_factory=threading.Event)
    told: bytearray = field(default_factory=bytearray)
    """The body of the answer, as far as it was streamed."""

    def wait_gone(self, timeout: float = 20.0) -> bool:
        """Whether the client went away before its answer was over, waiting that long for it."""
        return self.gone.wait(timeout)


Script = Sequence[Step] | Callable[[Ask], Sequence[Step]]
