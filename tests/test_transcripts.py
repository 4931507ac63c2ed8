"""Golden transcripts: what a client asked, what the upstream was asked, what it sent, what the client was told.

Each folder of `tests/transcripts` is one behaviour of a real chat server:

    request.json     the client's body
    options.json     the options of the model, where they are not the defaults
    ask.json         what the upstream is asked
    upstream.jsonl   what it sends, chunk by chunk; `{"silence": true}` is a pause, `{"broke": problem}` a connection
                     that was lost
    events.jsonl     what the client is told

`--bless tests/transcripts/NAME` rewrites ask.json and events.jsonl; the diff is then the review.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.protocol.events import Event
from tests.judges import judge_stream
from tests.support.transcripts import each_transcript, lines, new_turn, replayed
from tests.support.warning_sentences import sentences
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check

PRICED = ("completed", "incomplete")
NO_JSON = {"arguments-that-are-no-json", "function-of-a-list"}
"""Transcripts whose model writes arguments that are no JSON object."""


def plain(events: Iterator[Event]) -> list[dict[str, Any]]:
    """Events as a client reads them."""
    return [msgspec.json.decode(msgspec.json.encode(event)) for event in events]


@each_transcript
def test_the_upstream_is_asked_what_the_transcript_says(folder: Path, blessed: Path | None) -> None:
    """The whole ask, and nothing the caller would have to be warned of."""
    turn = new_turn(folder)
    file = folder / "ask.json"
    if blessed == folder:
        file.write_text(json.dumps(turn.ask, indent=2) + "\n", encoding="utf-8")
    assert turn.ask == json.loads(file.read_text(encoding="utf-8"))
    assert sentences(turn.warnings) == []


@each_transcript
def test_the_client_is_told_what_the_transcript_says(folder: Path, blessed: Path | None) -> None:
    """Every event whole; sound in the eyes of the grammar, both judges and the reference consumer."""
    events = plain(replayed(new_turn(folder), lines(folder / "upstream.jsonl")))
    check(events)
    judge(events)
    broken = [finding.rule.name for finding in judge_stream(events)]
    assert broken == (["arguments-json"] if folder.name in NO_JSON else [])
    check_consumed(events)
    last = events[-1]["response"]
    judge_response(last)
    assert last["usage"] or last["status"] not in PRICED
    file = folder / "events.jsonl"
    if blessed == folder:
        file.write_text("".join([json.dumps(event) + "\n" for event in events]), encoding="utf-8")
    assert events == lines(file)


@each_transcript
def test_a_stream_that_is_cut_anywhere_fails_and_never_completes(folder: Path) -> None:
    """Unless the upstream had already said why it ended, with a sign of life behind every chunk."""
    chunks = lines(folder / "upstream.jsonl")
    for length in range(len(chunks)):
        received = [step for chunk in chunks[:length] for step in (chunk, {"silence": True})]
        events = plain(replayed(new_turn(folder), received))
        check(events)
        check_consumed(events)
        if not any(gave_a_reason(chunk) for chunk in chunks[:length]):
            assert events[-1]["type"] == "response.failed"


def gave_a_reason(chunk: Any) -> bool:
    """Whether this chunk says why the answer ended."""
    match chunk:
        case {"choices": [{"finish_reason": str()}, *_]}:
            return True
        case _:
            return False
