"""A response for which the model is not asked: its request is only to be remembered, for a turn that continues it."""

from msgspec.structs import replace

from app.protocol.events import Event, ResponseCompleted, ResponseCreated, ResponseInProgress
from app.protocol.response import Response, Usage


def prepared(response: Response, *, completed_at: int) -> list[Event]:
    """All of its events. It has no output and used no tokens."""
    nothing = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
    done = replace(response, status="completed", completed_at=completed_at, usage=nothing)
    return [
        ResponseCreated(sequence_number=0, response=response),
        ResponseInProgress(sequence_number=1, response=response),
        ResponseCompleted(sequence_number=2, response=done),
    ]
