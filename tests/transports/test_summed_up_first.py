"""A conversation that is summed up before it is answered: two asks of one turn, with their time, tokens and ends."""

import json
from dataclasses import replace

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support import grammar
from tests.support.failed_answers import streamed_end
from tests.support.long_conversation import HISTORY, NEXT_MESSAGE, Json
from tests.support.script import counts, opens, refuses, says, stops, text_turn
from tests.support.servers import ChatUpstream, Cut, End, Hang, Pause, Script, Status
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES, SummaryLane
from tests.support.websocket_server import settings_of

LONG: list[Json] = [HISTORY[0], {"role": "assistant", "content": "word " * 2_000}, NEXT_MESSAGE]


MANAGED: Json = {
    "model": "m",
    "input": LONG,
    "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
}


each_lane = pytest.mark.parametrize(
    "lane", [SUMMARY_LANES[name] for name in ("chat", "functions")], ids=["chat", "functions"]
)


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
@each_lane
def test_what_was_summed_up_is_not_lost_when_the_answer_fails(
    lane: SummaryLane, second: Script, code: str, status: int, wait: str | None
) -> None:
    """In a stream; without one, nothing was sent, and the client may simply ask again."""
    scripts = [lane.translated(text_turn("Notes.")), lane.translated(second)]
    with lane.server(*scripts) as upstream, serving(lane.settings(upstream.url, None)) as url:
        response = streamed_end(url, MANAGED)
    with lane.server(*scripts) as again, serving(lane.settings(again.url, None)) as url:
        whole = httpx.post(f"{url}/v1/responses", json=MANAGED)
    assert (whole.status_code, whole.headers.get("retry-after"), len(again.asks)) == (status, wait, 2)
    assert (response["status"], response["error"]["code"], len(upstream.asks)) == ("failed", code, 2)
    assert response["output"][0]["type"] == "compaction"
    assert response["usage"] == USED, "the summary was paid for"


USED: Json = {
    "input_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 12,
}


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


def clocked(upstream: ChatUpstream, **clocks: float) -> Settings:
    lane = Upstream(via="chat", base_url=upstream.url, **clocks)  # type: ignore[arg-type]
    return Settings(upstreams={"scripted": lane}, models={"*": Model(upstream="scripted")})


def test_the_second_ask_has_the_time_that_a_first_word_has() -> None:
    """A model whose prompt is long needs more time for its first word than for any later one."""
    with (
        ChatUpstream(text_turn("Notes."), [Pause(0.5), *text_turn("Yes.")]) as upstream,
        serving(clocked(upstream, timeout=0.2, first_payload_timeout=5)) as url,
    ):
        assert httpx.post(f"{url}/v1/responses", json=MANAGED).json()["status"] == "completed"


def test_and_no_more_than_that() -> None:
    with (
        ChatUpstream(text_turn("Notes."), [Hang()]) as upstream,
        serving(clocked(upstream, timeout=60, first_payload_timeout=0.2)) as url,
    ):
        response = streamed_end(url, MANAGED)
    assert (response["status"], response["usage"]) == ("failed", USED)
    there = f"The upstream at {upstream.url}"
    assert response["error"]["message"] == f"{there} did not answer: it was given 0.2 seconds."


def test_the_time_limit_of_a_turn_is_one_for_all_its_asks() -> None:
    slow: list[Script] = [
        [opens(), says(text), Pause(0.7), says("."), stops(), counts(7, 5)] for text in ("Notes", "Yes")
    ]
    with ChatUpstream(*slow) as upstream, serving(clocked(upstream, turn_timeout=1)) as url:
        response = streamed_end(url, MANAGED)
    assert (response["status"], len(upstream.asks)) == ("failed", 2)
    assert response["error"]["message"] == "The model's server was still answering: it was given 1 seconds."


@pytest.mark.parametrize("place", [0, 1], ids=["while it is summed up", "while it is answered"])
def test_a_client_that_leaves_stops_whichever_ask_runs(place: int) -> None:
    scripts: list[Script] = [text_turn("Notes."), text_turn("Yes.")]
    scripts[place] = [opens(), says("Once"), Hang()]
    with ChatUpstream(*scripts) as upstream, serving(settings_of(upstream)) as url:
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.stream("POST", f"{url}/v1/responses", json={**MANAGED, "stream": True}, timeout=0.4) as answer,
        ):
            for _ in answer.iter_lines():
                pass
        assert len(upstream.asks) == place + 1
        assert upstream.asks[place].wait_gone()


@each_lane
def test_a_long_summary_and_a_long_wait_for_the_answer_are_filled_with_signs_of_life(lane: SummaryLane) -> None:
    gap: Script = [opens(), says("No"), Pause(1.2), says("tes."), stops()]
    late: Script = [Pause(1.2), *text_turn("Yes.")]
    with lane.server(lane.translated(gap), lane.translated(late)) as upstream:
        settings = lane.settings(upstream.url, None)
        ours = replace(settings, server=settings.server.model_copy(update={"keep_alive": 0.1, "first_payload_wait": 0}))
        with serving(ours) as url:
            answer = httpx.post(f"{url}/v1/responses", json={**MANAGED, "stream": True})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    grammar.check(events)
    kinds = [event["type"] for event in events]
    done = kinds.index("response.output_item.done")
    assert kinds[:done].count("response.in_progress") > 1
    assert "response.in_progress" in kinds[done:]
    assert kinds[-1] == "response.completed"


def test_an_upstream_that_falls_silent_between_two_asks_is_given_up() -> None:
    with ChatUpstream(text_turn("Notes."), [Hang()]) as upstream:
        lane = Upstream(via="chat", base_url=upstream.url, timeout=0.3)
        with serving(Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})) as url:
            answer = httpx.post(f"{url}/v1/responses", json=MANAGED)
    assert answer.status_code == 504
    assert "did not answer" in answer.json()["error"]["message"]
