"""Transcripts: what a client asked, what the upstream was asked, what it sent, what the client was told.

Each folder of `transcripts/` is one behaviour of a model's server:

    request.json     the client's body, without `stream`; text that begins with `SEALED` is sealed
    case.toml        what its model and its process need, where these are not the defaults
    ask.json         what the upstream is asked
    upstream.jsonl   what it sends, chunk by chunk; `{"silence": true}` is a pause until the client sees a sign of life,
                     `{"cut": true}` a connection that is lost, `{"hang": true}` silence until this server gives up,
                     `{"end": true}` the end of the body without `[DONE]`
    events.jsonl     what the client is told in a stream
    warnings.jsonl   the header `x-am-warnings`, where there is one
    failed.json      status and error with `stream: false`, where that fails; else it is the last event's response

`--bless tests/wire/transcripts/NAME` writes ask.json, events.jsonl and failed.json of one folder.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.wire.cases import Json, Stage, case_of, folders
from tests.wire.comparison import lines, loosened, renumbered, write_lines
from tests.wire.event_stream import events_of, judged
from tests.wire.exchange_names import StableNames
from tests.wire.foreign_judges import judge_response
from tests.wire.grammar import check
from tests.wire.seals import all_closed, all_opened
from tests.wire.servers import Ask, Cut, End, Hang, Latch, Step

FOLDERS: Final = folders("transcripts", ["request.json", "ask.json", "upstream.jsonl", "events.jsonl"])
each_transcript = pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
PRICED: Final = ("completed", "incomplete")
_SIGN_OF_LIFE: Final = re.compile(rb'"delta":""|"response.in_progress","sequence_number":(?!1,)')
"""Within a frame. The first `in_progress` says that the response begins."""
UPSTREAM: Final = "http://upstream.example"


class Played:
    """A transcript that is played once."""

    def __init__(self, folder: Path, stage: Stage, *, stream: bool, chunks: list[Any]) -> None:
        self.case = case_of(folder)
        self._latches: list[Latch] = []
        steps = [self._step(chunk) for chunk in chunks]
        upstream = self.case.format(steps)
        upstream.faults = _no_faults  # type: ignore[assignment,method-assign] # the golden ask is the judge
        scripted = stage.base_url(self.case).removesuffix(upstream.base_path)
        if not stream:
            for latch in self._latches:
                latch.open()
        self._names = StableNames({UPSTREAM: scripted}, self.case.name)
        body = all_closed(self._names.asked(json.loads((folder / "request.json").read_text(encoding="utf-8"))))
        body["stream"] = stream
        with (
            stage.playing(self.case, upstream) as url,
            stage.client.stream("POST", f"{url}/v1/responses", json=body) as answer,
        ):
            self.status = answer.status_code
            self.headers = answer.headers
            self.body = b"".join(self._read(answer))
        self.asks = [self._names.named(ask.body) for ask in upstream.asks]

    def told(self) -> list[Json]:
        """The events, as they came."""
        assert self.headers["content-type"] == "text/event-stream; charset=utf-8", self.body
        return events_of(self.body)

    def named(self, value: Any) -> Any:
        """What was received, with names for what varies, and what is sealed readable."""
        return self._names.named(all_opened(value))

    def _step(self, chunk: Any) -> Step:
        match chunk:
            case {"silence": True}:
                self._latches.append(Latch())
                return self._latches[-1]
            case {"cut": True}:
                return Cut()
            case {"hang": True}:
                return Hang()
            case {"end": True}:
                return End()
            case dict():
                return chunk
            case _:
                return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def _read(self, answer: httpx.Response) -> Iterator[bytes]:
        """The body. Each sign of life lets an upstream that is silent go on."""
        waiting = iter(self._latches)
        latch = next(waiting, None)
        unread = b""
        for piece in answer.iter_bytes():
            yield piece
            *frames, unread = (unread + piece).split(b"\n\n")
            for frame in frames:
                if latch and latch.reached.is_set() and _SIGN_OF_LIFE.search(frame):
                    latch.open()
                    latch = next(waiting, None)


def _no_faults(_: Ask) -> list[str]:
    return []


def living(events: list[Json]) -> list[Json]:
    """Events in which signs of life that follow each other are one: a machine that stands still lets two come."""
    kept: list[Json] = []
    for event in events:
        plain = {**event, "sequence_number": len(kept)}
        sign = event.get("delta") == "" or event["type"] == "response.in_progress"
        if not (sign and kept and {**kept[-1], "sequence_number": len(kept)} == plain):
            kept.append(plain)
    return kept


@each_transcript
def test_a_stream_tells_what_the_transcript_says(folder: Path, stage: Stage, blessed: Path | None) -> None:
    """Every event whole; sound in the eyes of the grammar and all judges."""
    played = Played(folder, stage, stream=True, chunks=lines(folder / "upstream.jsonl"))
    told = played.told()
    last = judged(told)
    assert last["usage"] or last["status"] not in PRICED
    events = living(played.named(told))
    warned = json.loads(played.headers.get("x-am-warnings", "[]"))
    if blessed == folder:
        if warned:
            write_lines(folder / "warnings.jsonl", loosened(warned, golden_warnings(folder), "x_am_warnings"))
        (folder / "ask.json").write_text(json.dumps(played.asks[0], indent=2) + "\n", encoding="utf-8")
        write_lines(folder / "events.jsonl", loosened(events, lines(folder / "events.jsonl")))
    assert played.asks == [json.loads((folder / "ask.json").read_text(encoding="utf-8"))]
    assert loosened(warned, golden_warnings(folder), "x_am_warnings") == golden_warnings(folder)
    golden = lines(folder / "events.jsonl")
    assert loosened(events, golden) == golden


def golden_warnings(folder: Path) -> list[str]:
    """The warnings that the stream begins with."""
    file = folder / "warnings.jsonl"
    return lines(file) if file.exists() else []


@each_transcript
def test_a_whole_answer_is_that_of_the_stream(folder: Path, stage: Stage, blessed: Path | None) -> None:
    """The last event's response; where the stream fails, an HTTP error."""
    played = Played(folder, stage, stream=False, chunks=lines(folder / "upstream.jsonl"))
    assert played.asks == [json.loads((folder / "ask.json").read_text(encoding="utf-8"))]
    body = json.loads(played.body)
    failed = folder / "failed.json"
    if played.status == 200:
        assert not failed.exists() or blessed == folder
        judge_response(body)
        last = lines(folder / "events.jsonl")[-1]["response"]
        assert renumbered(played.named(body)) == renumbered(last)
        return
    got = {"status": played.status, "error": body["error"]}
    golden = json.loads(failed.read_text(encoding="utf-8")) if failed.exists() else {}
    if blessed == folder:
        golden = loosened(got, golden)
        failed.write_text(json.dumps(golden, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert loosened(got, golden) == golden
    assert lines(folder / "events.jsonl")[-1]["type"] == "response.failed"


@each_transcript
def test_a_stream_that_is_cut_anywhere_fails_and_never_completes(folder: Path, stage: Stage) -> None:
    """Unless the upstream had already said why it ended."""
    chunks = [chunk for chunk in lines(folder / "upstream.jsonl") if not _is_pause(chunk)]
    for length in range(len(chunks)):
        events = Played(folder, stage, stream=True, chunks=[*chunks[:length], {"cut": True}]).told()
        check(events)
        if not any(gave_a_reason(chunk) for chunk in chunks[:length]):
            assert events[-1]["type"] == "response.failed"


def _is_pause(chunk: Any) -> bool:
    return isinstance(chunk, dict) and ("silence" in chunk or "cut" in chunk or "hang" in chunk or "end" in chunk)


def gave_a_reason(chunk: Any) -> bool:
    """Whether this chunk says why the answer ended."""
    match chunk:
        case {"choices": [{"finish_reason": str()}, *_]} | {"delta": {"stop_reason": str()}}:
            return True
        case {"candidates": [{"finishReason": str()}]}:
            return True
        case _:
            return False
