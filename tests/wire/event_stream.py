"""An SSE body taken apart byte by byte, and a stream that every judge has heard."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check

DONE = b"data: [DONE]"
LINE_ENDS = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What some client's line iterator splits on, `\\n` aside."""


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The events of a whole body. Refuses any framing but ours: an event line, a data line, an empty line, LF only."""
    assert not LINE_ENDS.search(body.decode()), "a client's line iterator would split here"
    assert body.endswith(b"\n\n"), "the last frame is whole"
    *frames, last = [frame for frame in body.split(b"\n\n")[:-1] if not frame.startswith(b":")]
    assert last == DONE
    return [_event_of(frame) for frame in frames]


def _event_of(frame: bytes) -> dict[str, Any]:
    name, data = frame.split(b"\n")
    event: dict[str, Any] = json.loads(data.removeprefix(b"data: "))
    assert name == f"event: {event['type']}".encode()
    assert data.startswith(b"data: {")
    return event


def judged(events: Sequence[dict[str, Any]], *, for_codex: bool = False) -> dict[str, Any]:
    """The last response of a stream that all clients, the grammar and both foreign judges accept."""
    check(events, for_codex=for_codex)
    judge(events)
    last: dict[str, Any] = events[-1]["response"]
    judge_response(last)
    return last
