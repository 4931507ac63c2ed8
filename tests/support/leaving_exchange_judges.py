"""Whether all that a client got in an exchange is sound."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.judges import judge_answered_error, judge_stream
from tests.support.leaving_exchange_play import Played
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge, judge_error_frame, judge_response
from tests.wire.grammar import check
from tests.wire.sockets import LAST

Json = dict[str, Any]

_ADDED: Final = frozenset({"stream_id", "x_am_warnings"})
"""Members that only this server or only a websocket has."""
_BETWEEN: Final = ("response.steer.", "response.interrupt.", "response.inject.", "response.output_item.interrupted")
"""Events about what the client says while a response runs, which the foreign judges do not know."""


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
        if event["type"] in {"error", "response.inject.failed", "response.interrupt.failed", "response.steer.failed"}:
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
            assert frame["type"].startswith(_BETWEEN[:3]), f"{frame['type']} stands alone"
        case _:
            check(stream, completed_may_be_incomplete=for_codex)
            judge(event for event in stream if not event["type"].startswith(_BETWEEN))
            if not for_codex and not any(event["type"].startswith(_BETWEEN) for event in stream):
                assert [finding for finding in judge_stream(stream) if finding.rule.is_fault] == []
            check_consumed(stream)
            last = stream[-1]["response"]
            judge_response(last)
            assert last["usage"] or last["status"] == "failed" or last["incomplete_details"]


def _judge_body(body: Json) -> None:
    match body:
        case {"object": "response"}:
            judge_response(body)
        case {"error": dict()}:
            assert [finding for finding in judge_answered_error(400, {}, body) if finding.rule.is_fault] == []
        case _:
            pass
