"""Payloads that are taken where they are read, while the task that draws them waits: no task is woken for them."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias

Take: TypeAlias = Callable[[bytes], bool | None]
"""Is offered a piece of an answer. Returns None if it is not taken, and otherwise whether the task must go on.

What it raises is raised in the task.
"""


class PayloadSink(Protocol):
    """Takes payloads."""

    @property
    def is_open(self) -> bool:
        """Whether it takes payloads now. Otherwise they must be drawn, as the first one always is."""
        ...

    def take(self, payloads: list[Any]) -> None:
        """Takes these payloads."""
        ...


SINK: Final[ContextVar[PayloadSink | None]] = ContextVar("payload_sink", default=None)
"""Takes payloads of the ask of this task. Whoever draws them may set it."""


def taken_by_sink(read: Callable[[bytes], Iterable[Any]], goes_on: Callable[[], bool]) -> Take | None:
    """What takes pieces for the `SINK` of this task, if it has one: `read` makes payloads of them.

    `goes_on`: whether the task must go on after a piece.
    """
    sink = SINK.get()
    if sink is None:
        return None

    def take(piece: bytes) -> bool | None:
        if not sink.is_open:
            return None
        found = read(piece)
        if isinstance(found, list):  # all of them are there, as in nearly every piece
            if found:
                sink.take(found)
            return goes_on()
        payloads: list[Any] = []
        try:
            for payload in found:
                payloads.append(payload)  # noqa: PERF402 — those before an error are kept
        finally:
            if payloads:
                sink.take(payloads)
        return goes_on()

    return take
