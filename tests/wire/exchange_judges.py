"""Whether all that a client got in an exchange is sound."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.judges import judge_answered_error
from tests.wire.event_stream import judged
from tests.wire.exchange_play import Played
from tests.wire.foreign_judges import judge_compaction, judge_error_frame, judge_response
from tests.wire.sockets import LAST

Json = dict[str, Any]

_ADDED: Final = frozenset({"stream_id", "x_am_warnings"})
"""Members that only this server or only a websocket has."""


def judge_exchange(played: Played) -> None:
    """Refuse an exchange in which a client was told what is not sound."""
    for events in played.streams:
        for stream in streams_of(events):
            _judge_one(stream, for_codex=played.for_codex)
    for body in played.bodies:
        _judge_body(body)


def streams_of(events: Iterable[Json]) -> Iterator[list[Json]]:
    """The events of each response of a lane, and each frame that stands alone."""
    stream: list[Json] = []
    for event in events:
        plain = {key: value for key, value in event.items() if key not in _ADDED}
        begins = event["type"] == "response.created"
        if not stream and not begins:
            yield [plain]
            continue
        if event["type"] in {"error", "response.interrupt.failed"}:
            yield [plain]  # about another frame, while this response runs
            continue
        stream.append(plain)
        if event["type"] in LAST:
            yield stream
            stream = []
    assert not stream, "a response has no end"


def _judge_one(stream: list[Json], *, for_codex: bool) -> None:
    match stream:
        case [{"type": "error"} as frame]:
            judge_error_frame(frame)
        case [frame]:
            assert frame["type"].startswith("response.interrupt."), f"{frame['type']} stands alone"
        case _:
            last = judged(stream, for_codex=for_codex)
            assert last["usage"] or last["status"] == "failed" or last["incomplete_details"]


def _judge_body(body: Json) -> None:
    match body:
        case {"object": "response"}:
            judge_response(body)
        case {"object": "response.compaction"}:
            judge_compaction(body)
        case {"error": dict()}:
            assert [finding for finding in judge_answered_error(400, {}, body) if finding.rule.is_fault] == []
        case _:
            pass
