"""A conversation that is summed up before it is answered: two asks of one turn, with their time, tokens and ends."""

import json
from typing import Any

import httpx
import pytest

from tests.support.long_conversation import HISTORY, NEXT_MESSAGE, Json
from tests.support.tool_rounds import TASK, TOOLS, rounds
from tests.wire import grammar
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import events_of
from tests.wire.program import serving
from tests.wire.script import counts, opens, refuses, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Cut, End, Hang, Latch, Pause, Script, Status
from tests.wire.servers.small_window import SmallWindow

LONG: list[Json] = [HISTORY[0], {"role": "assistant", "content": "word " * 2_000}, NEXT_MESSAGE]


MANAGED: Json = {
    "model": "m",
    "input": LONG,
    "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
}


def settings_of(upstream: ChatUpstream, server: Json | None = None, **more: Any) -> str:
    """A model on this server, which may fail as often as it likes."""
    lane = Upstream(via="chat", base_url=upstream.url, breaker_failures=0, **more)
    return Settings(server=server or Server(), upstreams={"scripted": lane}, models={"m": Model(upstream="scripted")})


def streamed_end(url: str, body: Json) -> Json:
    """The response in the last event of a turn."""
    answer = httpx.post(f"{url}/v1/responses", json={**body, "stream": True}, timeout=20)
    response: Json = events_of(answer.content)[-1]["response"]
    return response


USED: Json = {
    "input_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 12,
}


@pytest.mark.parametrize(
    ("second", "code", "status", "wait"),
    [
        (
            [Status(429, {"error": {"message": "Slow down."}}, {"retry-after": "7"})],
            "rate_limit_exceeded",
            429,
            "7",
        ),
        ([opens(), says("Half"), Cut()], "server_error", 502, None),
        ([], "server_error", 502, None),
    ],
    ids=["refused", "broken off", "nothing said"],
)
def test_what_was_summed_up_is_not_lost_when_the_answer_fails(
    second: Script, code: str, status: int, wait: str | None
) -> None:
    """In a stream; without one, nothing was sent, and the client may simply ask again."""
    scripts = [text_turn("Notes."), second]
    with ChatUpstream(*scripts, *scripts) as upstream, serving(settings_of(upstream)) as url:
        response = streamed_end(url, MANAGED)
        assert len(upstream.asks) == 2
        whole = httpx.post(f"{url}/v1/responses", json=MANAGED)
    assert (whole.status_code, whole.headers.get("retry-after"), len(upstream.asks)) == (status, wait, 4)
    assert (response["status"], response["error"]["code"]) == ("failed", code)
    assert response["output"][0]["type"] == "compaction"
    assert response["usage"] == USED, "the summary was paid for"


@pytest.mark.parametrize(
    "summary",
    [
        [opens(), says("Half"), counts(7, 5), Cut()],
        [opens(), stops(), counts(7, 5)],
        [opens(), refuses("No."), stops(), counts(7, 5)],
        [opens(), says("Half"), counts(7, 5), End()],
    ],
    ids=["broken off", "nothing said", "refused", "cut"],
)
def test_a_summary_that_fails_tells_what_it_used(summary: Script) -> None:
    with ChatUpstream(summary) as upstream, serving(settings_of(upstream)) as url:
        response = streamed_end(url, MANAGED)
    assert (response["status"], response["usage"], len(upstream.asks)) == ("failed", USED, 1)


def test_the_time_limit_of_a_turn_is_one_for_all_its_asks() -> None:
    slow: list[Script] = [
        [opens(), says(text), Pause(1.6), says("."), stops(), counts(7, 5)] for text in ("Notes", "Yes")
    ]
    with ChatUpstream(*slow) as upstream, serving(settings_of(upstream, turn_timeout=2.6)) as url:
        response = streamed_end(url, MANAGED)
    assert (response["status"], len(upstream.asks)) == ("failed", 2)
    assert "it was given 2.6 seconds" in response["error"]["message"]


@pytest.mark.parametrize("place", [0, 1], ids=["while it is summed up", "while it is answered"])
def test_a_client_that_leaves_stops_whichever_ask_runs(place: int) -> None:
    scripts: list[Script] = [text_turn("Notes."), text_turn("Yes.")]
    scripts[place] = [opens(), says("Once"), Hang()]
    with (
        ChatUpstream(*scripts) as upstream,
        serving(settings_of(upstream, Server(keep_alive=0.1, first_payload_wait=0))) as url,
    ):
        with httpx.stream("POST", f"{url}/v1/responses", json={**MANAGED, "stream": True}, timeout=20) as answer:
            lines = answer.iter_lines()
            while len(upstream.asks) <= place:
                next(lines)
        assert upstream.asks[place].wait_gone()
    assert len(upstream.asks) == place + 1


def test_a_long_summary_and_a_long_wait_for_the_answer_are_filled_with_signs_of_life() -> None:
    first, second = Latch(), Latch()
    scripts: list[Script] = [[opens(), says("No"), first, says("tes."), stops()], [second, *text_turn("Yes.")]]
    kinds: list[str] = []
    events: list[Json] = []
    with (
        ChatUpstream(*scripts) as upstream,
        serving(settings_of(upstream, Server(keep_alive=0.1, first_payload_wait=0))) as url,
        httpx.stream("POST", f"{url}/v1/responses", json={**MANAGED, "stream": True}, timeout=20) as answer,
    ):
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                events.append(json.loads(line.removeprefix("data: ")))
                kinds.append(events[-1]["type"])
            if kinds.count("response.in_progress") == 3:
                first.open()
            if "response.output_item.done" in kinds and kinds[-1] == "response.in_progress":
                second.open()
    grammar.check(events)
    assert kinds[-1] == "response.completed"


def test_an_upstream_that_falls_silent_between_two_asks_is_given_up() -> None:
    with ChatUpstream(text_turn("Notes."), [Hang()]) as upstream, serving(settings_of(upstream, timeout=1)) as url:
        answer = httpx.post(f"{url}/v1/responses", json=MANAGED)
    assert answer.status_code == 504
    assert "did not answer" in answer.json()["error"]["message"]


def test_a_conversation_that_was_summed_up_before_is_summed_up_again() -> None:
    managed = {"tools": TOOLS, "context_management": [{"type": "compaction", "compact_threshold": 8_000}]}
    scripts = [text_turn(f"Notes {number}.") for number in range(4)]
    with ChatUpstream(*scripts) as upstream, serving(settings_of(upstream)) as url:
        items = [TASK, *rounds(8), {"role": "user", "content": "And now?"}]
        for _ in range(2):
            answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, **managed}, timeout=30)
            output = answer.json()["output"]
            assert [item["type"] for item in output] == ["compaction", "message"]
            items += [*output, {"role": "user", "content": "And then?"}, *rounds(8)]
        texts = [[str(message.get("content")) for message in ask.body["messages"]] for ask in upstream.asks]
    first, answered, second, last = texts
    assert first[-1] == second[-1] != TASK["content"], "the request for a summary"
    assert "Notes 0." in str(answered)
    assert "Notes 0." in str(second)
    assert "Notes 2." in str(last)
    assert answered[-1] == "And now?"
    assert last[-1].startswith("begin-7 ")


@pytest.mark.parametrize(
    ("more", "asks"), [([], 1), ([{"type": "compaction_trigger"}], 7)], ids=["to be answered", "to be summed up"]
)
def test_what_a_model_refuses_as_too_long_is_its_error_after_few_asks(more: list[Json], asks: int) -> None:
    window = SmallWindow(1, lambda _number, _ask: [])
    body = {"model": "m", "input": [TASK, *rounds(40), *more], "tools": TOOLS}
    with ChatUpstream(window) as upstream, serving(settings_of(upstream)) as url:
        answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert 1 <= len(window.refused) <= asks
