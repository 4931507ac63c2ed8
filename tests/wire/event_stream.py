"""An SSE body taken apart byte by byte, and a stream that every judge has heard."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.judges import judge_stream
from tests.wire.consumer import Consumed, check_consumed
from tests.wire.foreign_judges import judge
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


def judged(events: Sequence[dict[str, Any]]) -> Consumed:
    """What the reference consumer makes of a stream that the grammar, both foreign judges and all clients accept."""
    check(events)
    judge(events)
    assert [finding for finding in judge_stream(events) if finding.rule.is_fault] == []
    return check_consumed(events)
