"""A conversation that is summed up before it is answered: two asks of one turn, with their time, tokens and ends."""

import json
from dataclasses import replace

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.failed_answers import streamed_end
from tests.support.long_conversation import HISTORY, NEXT_MESSAGE, Json
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES, SummaryLane
from tests.wire import grammar
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Cut, Hang, Pause, Script, Status

LONG: list[Json] = [HISTORY[0], {"role": "assistant", "content": "word " * 2_000}, NEXT_MESSAGE]


MANAGED: Json = {
    "model": "m",
    "input": LONG,
    "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
}


each_lane = pytest.mark.parametrize("lane", [SUMMARY_LANES["functions"]], ids=["functions"])


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
