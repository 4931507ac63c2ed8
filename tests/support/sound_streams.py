"""Streams that obey the grammar."""

from app.emitter.deltas import (
    AnnotationAdded,
    ReasoningDelta,
    RefusalTextDelta,
    TextDelta,
)
from tests.support.emitters import COUNTED, END, LENGTH, calls, played

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}


LOGPROB = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}


PROSE = played(
    ReasoningDelta("hm"),
    TextDelta("Hi", [LOGPROB]),
    AnnotationAdded(CITATION),
    TextDelta("!"),
    RefusalTextDelta("no"),
    COUNTED,
    END,
)


CUT = played(TextDelta("Hi"), *calls(0, "f", "{}", call_id="c"), *calls(1, "g", '{"a', call_id="d"), LENGTH)
