"""The memory of the ring buffer stays within its bound, and what is counted is what is taken."""

import gc
import tracemalloc

import msgspec

from app.emitter.deltas import TextDelta
from app.observers.kept_notes import EACH_EVENT, KeptMessage
from app.observers.recorder import Recorder
from app.observers.shared_parts import OVERHEAD, SharedPart
from app.parsing.request_body import parse_request
from app.protocol.request.create_response import CreateResponse
from app.upstreams.taps import TAPS, tapped
from tests.support.emitters import new_emitter

BOUND = 4_000_000
RULES = "You are an agent. " * 60


def conversation(name: str) -> list[CreateResponse]:
    """The requests of a conversation: each repeats the one before."""
    history: list[dict[str, str]] = []
    requests = []
    for number in range(20):
        history += [{"role": "user", "content": f"{name} {number} {'word ' * 20}"}]
        body = {"model": "demo", "instructions": RULES, "input": history}
        requests.append(parse_request(msgspec.json.encode(body)))
        history += [{"role": "assistant", "content": f"Done with {number}."}]
    return requests


def keep(recorder: Recorder, turns: int) -> None:
    """Keeps this many turns of five conversations."""
    conversations = [conversation(f"conversation {number}") for number in range(5)]
    emitter = new_emitter()
    batches = [emitter.begin(), *(emitter.feed([TextDelta(f"word {number} ")]) for number in range(4))]
    for number in range(turns):
        request = conversations[number % 5][number // 5 % 20]
        turn = recorder.began({"request_id": f"req_{number}", "model": "demo", "key": "anyone"})
        TAPS.set(())
        turn.asked(request, {"model": "m", "messages": request.raw["input"]}, [], "there")
        (answer,) = tapped(b"{}")
        answer.head(200, {})
        answer.piece(b"data: {}\n\n" * 8)
        for batch in batches:
            turn.sent(batch)
        turn.ended({"finish": "completed", "request_id": f"req_{number}"})


def test_ten_thousand_turns_are_kept_within_the_bound() -> None:
    recorder = Recorder(10_000, BOUND)
    keep(recorder, 10_000)
    kept = recorder.turns(lambda _: True)
    assert 100 < len(kept) < 10_000
    assert [turn.number for turn in kept] == list(range(10_001 - len(kept), 10_001))
    assert 0.9 * BOUND < recorder.bytes <= BOUND
    recorder.follow(1, keyed=False, settings_for=dict.fromkeys)
    keep(recorder, 1)
    last = recorder.turns(lambda _: True)
    assert len(last) == 1
    shared = [piece for note in last[0].notes if isinstance(note, KeptMessage) for piece in note.pieces]
    parts = {id(piece): len(piece.data) + OVERHEAD for piece in shared if isinstance(piece, SharedPart)}
    links = sum(EACH_EVENT for piece in shared if isinstance(piece, SharedPart))
    assert recorder.bytes == last[0].size + sum(parts.values()) + links, "what was forgotten is counted no more"


def test_what_is_counted_is_what_is_taken() -> None:
    keep(Recorder(1, BOUND), 1)  # for what is made once
    gc.collect()
    tracemalloc.start()
    recorder = Recorder(1000, BOUND)
    keep(recorder, 600)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 * recorder.bytes < taken < 1.2 * recorder.bytes
