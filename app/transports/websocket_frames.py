"""Events -> the texts of websocket frames, one for each event."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from app.protocol.events import Event
from app.protocol.warnings import ClientWarning, in_event
from app.transports import sse

Warned = dict[int, Sequence[ClientWarning]]
"""The warnings that stand in an event, by its position in the batch."""


def warned(batch: Sequence[Event], first: Sequence[ClientWarning], late: Sequence[ClientWarning]) -> Warned:
    """`first` stand in the first event of this batch, `late` in its last one."""
    last = len(batch) - 1
    return {0: [*first, *late]} if not last else {0: first, last: late}


def frames(batch: Sequence[Event], warnings: Warned) -> list[str]:
    """All frames of a batch that is short."""
    return [_text(event, warnings.get(position, ())) for position, event in enumerate(batch)]


async def frames_apart(
    batch: Sequence[Event], warnings: Warned, echoed: int, send: Callable[[str], Awaitable[None]]
) -> None:
    """Sends the frames of a batch that is not short, each made when the one before it has left."""
    for position, event in enumerate(batch):
        await send(await sse.apart(event, echoed, _text, warnings.get(position, ())))


async def at_once(events: list[Event]) -> AsyncIterator[list[Event]]:
    """Events that are all there, as a single batch."""
    yield events


def _text(event: Event, warnings: Sequence[ClientWarning]) -> str:
    data = sse.data_of(event)
    return (in_event(warnings, data) if warnings else data).decode()
