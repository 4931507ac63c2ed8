"""A response for which the model is not asked: its request is only to be remembered, for a turn that continues it."""

from itertools import count

from app.emitter.lifecycle_events import Lifecycle
from app.emitter.rules import ENDINGS
from app.protocol.events import Event
from app.protocol.response import Response, Usage


def prepared(response: Response, *, completed_at: int) -> list[Event]:
    """All of its events. It has no output and used no tokens."""
    lifecycle = Lifecycle(response, next_number=count().__next__, now=lambda: completed_at)
    nothing = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
    return [*lifecycle.begin(), lifecycle.last(ENDINGS["end"], output=[], usage=nothing)]
