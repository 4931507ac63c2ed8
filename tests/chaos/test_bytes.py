"""Any bytes at all from an upstream, through reader, turn and bridges, to the client: sound events, and no crash."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.protocol.problems import Problem
from app.protocol.response import Identity
from app.upstreams.chat_lines import ChatLines, NotAStreamError
from app.upstreams.faults import ReportedError, is_error
from app.upstreams.response_events import EventReader
from app.upstreams.sse_lines import NotEventsError
from tests.support.emitters import counted_ids, plain
from tests.wire.grammar import check
from tests.wire.script import breaks, calls, chunk, counts, more, opens, says, stops, thinks
from tests.wire.servers.responses import answer, call, message, reasoning

BROKE = Problem(code="upstream_error", message="It broke.")
TOOLS = [
    {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "exec"},
    {"type": "apply_patch"},
    {"type": "local_shell"},
]
REQUEST = json.dumps({"model": "m", "input": "Hi", "tools": TOOLS}).encode()

text = st.text(max_size=8) | st.sampled_from(["<think>", "</think>", "\u2028", "\ud83d", "\x00", '{"input":"', '"}'])
number = st.integers(-1, 3) | st.none()
odd = st.recursive(st.none() | st.booleans() | st.integers() | text, lambda inner: st.lists(inner, max_size=2))
chunks = st.one_of(
    st.just(opens()),
    text.map(says),
    text.map(thinks),
    st.builds(calls, number, st.sampled_from(["weather", "exec", "apply_patch", "local_shell", "", "?"]), id=text),
    st.builds(more, number, text),
    st.sampled_from(["stop", "length", "tool_calls", "content_filter", "", "nonsense"]).map(stops),
    st.just(counts(1, 2)),
    st.just(breaks()),
    st.dictionaries(st.sampled_from(["content", "tool_calls", "role", "refusal", "reasoning"]), odd).map(
        lambda fields: chunk({"index": 0, "delta": fields, "finish_reason": None})
    ),
    st.dictionaries(st.sampled_from(["choices", "usage", "error", "object"]), odd).map(lambda fields: chunk(**fields)),
)

IDENTITY = Identity("resp_AM-1", 1)
events = st.sampled_from(
    answer(reasoning("rs_1", "hm"), message("msg_1", "Hel", "lo"), call("fc_1", "call_1", "weather", '{"a"', ":1}"))
) | st.dictionaries(st.sampled_from(["type", "item", "response", "output_index", "delta"]), odd)


def framed(payloads: Iterable[Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(payload).encode() for payload in payloads)


@st.composite
def damaged(draw: st.DrawFn, payloads: st.SearchStrategy[Any]) -> list[bytes]:
    """A stream of these, cut into pieces, with some of its bytes lost, doubled or replaced."""
    body = bytearray(framed(draw(st.lists(payloads, max_size=10))) + draw(st.sampled_from([b"", b"data: [DONE]\n\n"])))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(body)))
        end = draw(st.integers(start, min(len(body), start + 20)))
        body[start:end] = draw(st.binary(max_size=6) | st.sampled_from([b"", b"\r", b"\n\n", b"data: ", b'"', b"}"]))
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=6)))
    return [bytes(body[start:end]) for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def chat_events(pieces: list[bytes]) -> list[dict[str, Any]]:
    """What a client is told when a chat server sends these bytes: as lane and pump do it."""
    request = parse_request(REQUEST)
    turn = ChatTurn(
        request,
        model="m",
        options=ChatOptions(model=ModelOptions(think_tags=True)),
        identity=IDENTITY,
        new_id=counted_ids(),
        now=lambda: 1,
    )
    lines = ChatLines()
    received = list(turn.begin())

    def take(found: Iterable[dict[str, Any]]) -> None:
        for payload in found:
            if not turn.over:
                received.extend(turn.fail(BROKE) if is_error(payload) else turn.receive(payload))

    try:
        for piece in pieces:
            take(lines.read(piece))
            if not turn.over:
                received.extend(turn.keep_alive())
        take(lines.end())
        if not turn.over:
            received.extend(turn.end())
    except NotAStreamError:
        if not turn.over:
            received.extend(turn.fail(BROKE))
    return plain(received)


def relayed_events(pieces: list[bytes]) -> tuple[list[dict[str, Any]], bool]:
    """The same of a server that speaks Responses; and whether all that it said was passed on."""
    request = parse_request(REQUEST)
    turn = RelayTurn(request, model="m", options=RelayOptions(), identity=IDENTITY, new_id=counted_ids(), now=lambda: 1)
    reading = EventReader()
    received = list(turn.begin())
    try:
        for piece in pieces:
            for event in reading.read(piece):
                if not turn.over:
                    received.extend(turn.receive(event))
        reading.end()
        if not turn.over:
            received.extend(turn.end())
    except (NotEventsError, ReportedError):
        if not turn.over:
            received.extend(turn.fail(BROKE))
    return [json.loads(event.data) for event in received], turn.over  # type: ignore[attr-defined]


@given(damaged(chunks))
def test_whatever_a_chat_server_sends_the_client_hears_a_sound_stream(pieces: list[bytes]) -> None:
    check(chat_events(pieces))


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_so_it_does_of_bytes_that_were_never_a_stream(pieces: list[bytes]) -> None:
    check(chat_events(pieces))


@given(damaged(events))
def test_a_relay_always_comes_to_one_end_and_numbers_what_it_tells(pieces: list[bytes]) -> None:
    """What stands between is the upstream's own, and may be nonsense as it came."""
    result, over = relayed_events(pieces)
    assert over
    assert [event["sequence_number"] for event in result] == list(range(len(result)))
    last = {"response.completed", "response.incomplete", "response.failed"}
    assert [event["type"] in last for event in result] == [False] * (len(result) - 1) + [True]


@pytest.mark.parametrize("payloads", [[opens(), says("Hi"), stops()]])
def test_a_stream_that_is_not_spoilt_is_told(payloads: list[Any]) -> None:
    """Otherwise the properties above could hold of nothing."""
    result = chat_events([framed(payloads)])
    assert result[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"
