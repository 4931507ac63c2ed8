"""The response inside the last event, as a body."""

from collections.abc import AsyncIterator

import msgspec
from fastapi import Response as HttpResponse

from app.protocol.events import Event, LastEvent
from app.protocol.response import Response


async def last_response(batches: AsyncIterator[list[Event]]) -> Response:
    """What `stream: false` answers: there is no second way to build a response."""
    last: Event | None = None
    async for batch in batches:
        last = batch[-1]
    if not isinstance(last, LastEvent):
        raise TypeError(f"a turn ended with {type(last).__name__}")
    return last.response


def body(response: Response, headers: dict[str, str]) -> HttpResponse:
    """The response as JSON."""
    return HttpResponse(msgspec.json.encode(response), media_type="application/json", headers=headers)
