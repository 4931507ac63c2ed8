"""The response inside the last event, as a body."""

from collections.abc import AsyncIterator

import msgspec
from fastapi import Response as HttpResponse

from app.off_loop import off_loop
from app.protocol.event_sizes import size_of
from app.protocol.events import Event, LastEvent, RelayedLast


async def last_response(batches: AsyncIterator[list[Event]], echoed: int) -> bytes:
    """What `stream: false` answers: there is no second way to build a response. `echoed`: bytes of its request."""
    last = await last_event(batches)
    if isinstance(last, RelayedLast):
        return last.body
    return await off_loop(size_of(last, echoed), msgspec.json.encode, last.response)


async def last_event(batches: AsyncIterator[list[Event]]) -> LastEvent | RelayedLast:
    """The one that ends a turn."""
    last: Event | None = None
    async for batch in batches:
        last = batch[-1] if batch else last
    if isinstance(last, LastEvent | RelayedLast):
        return last
    raise TypeError(f"a turn ended with {type(last).__name__}")


def body(response: bytes, headers: dict[str, str]) -> HttpResponse:
    """The response as JSON."""
    return HttpResponse(response, media_type="application/json", headers=headers)
