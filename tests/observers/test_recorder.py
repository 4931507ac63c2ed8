import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from app.emitter.deltas import TextDelta
from app.observers import recorded_turn, watchers
from app.observers.in_order import BUSY
from app.observers.kept_notes import Kept
from app.observers.recorded_turn import MOST_REQUEST, Recorded
from app.observers.recorder import Recorder
from app.observers.redaction import redacted_json
from app.observers.watchers import Note
from app.parsing.request_body import parse_request
from app.protocol.problems import refuse
from tests.support.emitters import new_emitter

PLENTY = 100_000_000
SOME = 60_000
"""Bytes for a few turns."""
REQUEST = parse_request(b'{"model": "demo", "input": "Hi"}')


def turn(recorder: Recorder, request_id: str, key: str = "alice") -> Recorded:
    """A turn that has been asked."""
    record = recorder.began({"request_id": request_id, "key": key, "owner": f"key:{key}"})
    record.asked(REQUEST, {"messages": []}, ["a warning"], "there")
    return record


def shown(record: Recorded, note: Kept) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(note.shown(record.head))
    return found


def everybody(_owner: str) -> bool:
    return True


async def taken(notes: AsyncIterator[Note], count: int) -> list[tuple[str, dict[str, Any]]]:
    """The next notes."""
    async with asyncio.timeout(5):
        found = [await anext(notes) for _ in range(count)]
    shown = [(note.name, msgspec.json.decode(note.data)) for note in found]
    for _, data in shown:
        assert data.pop("at", 0.0) < 5000
        assert data.pop("number") > 0
    return shown


def ids(notes: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str]]:
    return [(name, data["id"]) for name, data in notes]


async def test_a_watcher_is_told_what_was_and_what_comes() -> None:
    recorder = Recorder(5, PLENTY)
    first = turn(recorder, "req_1")
    notes = recorder.watch(everybody, 1)
    before = await taken(notes, 2)
    assert ids(before) == [("began", "req_1"), ("asked", "req_1")]
    assert before[1][1] == {
        "id": "req_1",
        "request": {"model": "demo", "input": "Hi"},
        "ask": {"messages": []},
        "upstream": "there",
        "warnings": ["a warning"],
        "ask_number": 1,
    }
    first.sent(new_emitter().begin())
    first.ended({"finish": "completed", "key": "alice", "owner": "key:alice"})
    sent, ended = await taken(notes, 2)
    assert [event["type"] for event in sent[1]["events"]] == ["response.created", "response.in_progress"]
    fields = {"finish": "completed", "key": "alice"}
    assert ended == ("ended", {"id": "req_1", "fields": fields, "left_out": 0})


async def test_only_the_last_turns_are_kept_and_a_forgotten_one_stays_out() -> None:
    recorder = Recorder(2, PLENTY)
    first, _, _ = turn(recorder, "req_1"), turn(recorder, "req_2"), turn(recorder, "req_3")
    first.sent(new_emitter().begin())
    assert [each.id for each in recorder.turns(everybody)] == ["req_2", "req_3"]
    notes = recorder.watch(everybody, 2)
    assert ids(await taken(notes, 2)) == [("began", "req_2"), ("asked", "req_2")]
    turn(recorder, "req_4")
    assert [note.name async for note in notes] == ["forgotten"]
    assert [each.id for each in recorder.turns(everybody)] == ["req_3", "req_4"]


@pytest.mark.parametrize(
    ("size", "ask"), [(20, {"m": 1}), (MOST_REQUEST + 1, {"left_out": f"… ({MOST_REQUEST + 1} bytes)"})]
)
async def test_the_rest_of_a_paused_answer_is_asked_for_in_a_note_of_its_own(size: int, ask: dict[str, Any]) -> None:
    recorder = Recorder(5, PLENTY)
    turn(recorder, "req_1").goes_on({"m": 1}, size, "there")
    *_, (name, note) = await taken(recorder.watch(everybody, 1), 3)
    assert name == "asked"
    assert note == {"id": "req_1", "ask": ask, "upstream": "there", "warnings": [], "ask_number": 2, "goes_on": True}


async def test_who_may_not_see_a_turn_is_told_nothing_of_it() -> None:
    recorder = Recorder(5, PLENTY)
    seen: dict[int, list[str]] = {}

    async def watch(number: int) -> None:
        seen[number] = [note.name async for note in recorder.watch(lambda owner: owner == "key:bob", number)]

    first = turn(recorder, "req_1", "alice")
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in (1, 2):
            group.create_task(watch(number))
        await asyncio.sleep(0)
        first.sent(new_emitter().begin())
        turn(recorder, "req_2", "bob")
        recorder.end_watching()
    assert seen == {1: [], 2: ["began", "asked"]}


async def test_a_turn_that_was_refused_is_told_too() -> None:
    recorder = Recorder(5, PLENTY)
    refused = recorder.began({"request_id": "req_1", "model": "nobody"})
    refused.refused(refuse("model_not_found", "The key sk-1234567 may not.").problem)
    refused.ended({"finish": "refused"})
    began, problem, ended = await taken(recorder.watch(everybody, 1), 3)
    assert [began[0], began[1]["model"], ended[0]] == ["began", "nobody", "ended"]
    error = {
        "message": "The key sk-*** may not.",
        "type": "invalid_request_error",
        "param": "",
        "code": "model_not_found",
    }
    assert problem == ("refused", {"id": "req_1", "status": 404, "error": error})


async def test_a_turn_that_asks_nobody_has_a_beginning() -> None:
    recorder = Recorder(5, PLENTY)
    recorder.began({"request_id": "req_1", "model": "demo"}).sent(new_emitter().begin())
    assert ids(await taken(recorder.watch(everybody, 1), 2)) == [("began", "req_1"), ("sent", "req_1")]


async def test_of_an_endless_turn_the_beginning_and_the_end_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_turn, "MOST_BYTES", 10_000)
    recorder = Recorder(5, PLENTY)
    record = turn(recorder, "req_1")
    for _ in range(50):
        record.sent(new_emitter().begin())
    record.ended({"finish": "completed"})
    assert [note.name for note in record.notes][-1] == "ended"
    assert shown(record, record.notes[-1])["left_out"] > 50
    assert recorder.bytes < 2 * 10_000


async def test_all_turns_together_have_a_bound_too() -> None:
    recorder = Recorder(1000, SOME)
    turns = [turn(recorder, f"req_{number}") for number in range(100)]
    kept = [record for record in turns if record.notes]
    assert 1 < len(kept) < 20
    assert kept == turns[-len(kept) :]
    assert recorder.bytes <= SOME


async def test_a_watcher_that_does_not_listen_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchers, "MOST_QUEUED", 3)
    recorder = Recorder(50, PLENTY)
    notes = recorder.watch(everybody, 1)
    record = turn(recorder, "req_0")
    await taken(notes, 1)
    for _ in range(10):
        record.sent(new_emitter().begin())
    rest = [note async for note in notes]
    assert len(rest) < 10


async def test_nobody_drives_out_the_turns_of_another() -> None:
    """By number and by size alike, whoever has most loses its oldest turn first."""
    for recorder in (Recorder(4, PLENTY), Recorder(1000, SOME)):
        mine = [turn(recorder, f"req_{number}", "alice") for number in range(2)]
        others = [turn(recorder, f"req_{number}", "mallory") for number in range(2, 60)]
        assert [bool(record.notes) for record in mine] == [True, True]
        kept = [record for record in others if record.notes]
        assert 1 < len(kept) < 20
        assert kept == others[-len(kept) :]


async def test_where_there_are_keys_only_their_turns_are_kept() -> None:
    recorder = Recorder(5, PLENTY, keyed=True)
    for owner in ("", "guest:0123"):
        recorder.began({"request_id": "req_1", "owner": owner}).asked(REQUEST, {}, [], "there")
    kept = turn(recorder, "req_2")
    assert recorder.turns(everybody) == [kept]
    recorder.follow(PLENTY, keyed=False, settings_for=dict.fromkeys)
    recorder.began({"request_id": "req_3", "owner": ""}).asked(REQUEST, {}, [], "there")
    assert len(recorder.turns(everybody)) == 2


async def test_what_a_watcher_has_not_taken_is_bounded_and_what_was_forgotten_is_not_held_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchers, "MOST_QUEUED_BYTES", 3000)
    recorder = Recorder(3, PLENTY)
    record = turn(recorder, "req_0")
    notes = recorder.watch(everybody, 1)
    await taken(notes, 2)
    for _ in range(40):
        record.sent(new_emitter().begin())
    for number in range(3):
        turn(recorder, f"req_{number + 1}")
    rest = [note async for note in notes]
    assert 0 < sum(len(note.data) for note in rest) <= 3000 + 200
    assert {note.name for note in rest} == {"sent"}


LONG = "word " * 40_000


@pytest.mark.parametrize(("text", "places"), [("word", {"loop"}), (LONG, {"long work"})])
async def test_long_requests_and_events_are_redacted_in_a_thread_and_shown_in_their_order(
    text: str, places: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()

    def look(raw: bytes, key: str = "") -> bytes:
        if b"word" in raw:
            seen.add("long work" if "long-work" in threading.current_thread().name else "loop")
        return redacted_json(raw, key)

    monkeypatch.setattr("app.observers.shared_parts.redacted_json", look)
    recorder = Recorder(5, PLENTY)
    notes = recorder.watch(everybody, 1)
    record = recorder.began({"request_id": "req_1"})
    request = parse_request(msgspec.json.encode({"model": "demo", "input": text}))
    record.asked(request.model_copy(update={"size": len(text)}), {}, [], "there")
    emitter = new_emitter()
    record.sent(emitter.begin())
    record.sent(emitter.feed([TextDelta(text)]))
    record.ended({"finish": "completed"})
    began, asked, opening, delta, ended = await taken(notes, 5)
    assert [began[0], ended[0]] == ["began", "ended"]
    assert asked[1]["request"]["input"] == text
    assert [events[1]["events"][0]["type"] for events in (opening, delta)] == [
        "response.created",
        "response.output_item.added",
    ]
    assert ended[1]["left_out"] == 0
    assert seen == places


async def test_what_waits_to_be_shown_is_bounded_and_the_rest_is_counted() -> None:
    recorder = Recorder(5, PLENTY)
    notes = recorder.watch(everybody, 1)
    record = recorder.began({"request_id": "req_1", "owner": "key:alice"})
    emitter = new_emitter()
    emitter.begin()
    batch = emitter.feed([TextDelta("x" * 1_500_000)])
    for _ in range(7):
        record.sent(batch)
    record.asked(REQUEST.model_copy(update={"size": MOST_REQUEST}), {}, [], "there")
    record.ended({"finish": "completed"})
    *_, asked, ended = await taken(notes, 8)
    assert asked[1]["request"] == {"model": "demo", "left_out": f"… ({MOST_REQUEST} bytes{BUSY})"}
    assert ended[1]["left_out"] == 2 * len(batch)


def test_events_for_which_there_is_no_room_are_not_even_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = turn(Recorder(5, PLENTY), "req_1")
    kept = len(recorded.notes)
    monkeypatch.setattr(recorded_turn, "_encode", lambda _: pytest.fail("it was encoded"))
    emitter = new_emitter()
    emitter.begin()
    events = emitter.feed([TextDelta("x" * (recorded_turn.MOST_BYTES + 1))])
    recorded.sent(events)
    monkeypatch.undo()
    recorded.ended({"finish": "completed"})
    assert len(recorded.notes) == kept + 1
    assert shown(recorded, recorded.notes[-1])["left_out"] == len(events)
