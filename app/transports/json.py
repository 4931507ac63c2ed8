"""The response inside the last event, as a body."""

from collections.abc import AsyncIterator

import msgspec
from fastapi import Response as HttpResponse

from app.protocol.events import Event, LastEvent, RelayedLast


async def last_response(batches: AsyncIterator[list[Event]]) -> bytes:
    """What `stream: false` answers: there is no second way to build a response."""
    last: Event | None = None
    async for batch in batches:
        last = batch[-1] if batch else last
    match last:
        case RelayedLast():
            return last.body
        case LastEvent():
            return msgspec.json.encode(last.response)
        case _:
            raise TypeError(f"a turn ended with {type(last).__name__}")


def body(response: bytes, headers: dict[str, str]) -> HttpResponse:
    """The response as JSON."""
    return HttpResponse(response, media_type="application/json", headers=headers)
