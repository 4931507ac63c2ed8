"""A conversation that is too long for its summary: its oldest outputs are shortened once."""

from typing import Any

import httpx
import pytest

from app.compaction.summary_text import SUM_UP
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES, SummaryLane
from tests.support.tool_rounds import TASK, THRESHOLD, TOOLS, rounds
from tests.wire.script import text_turn
from tests.wire.servers.small_window import SmallWindow
from tests.wire.servers.steps import Ask, Step

Json = dict[str, Any]

WINDOW = 12_000
TRIGGER = {"type": "compaction_trigger"}


def notes(number: int, _ask: Ask) -> list[Step]:
    return list(text_turn(f"Notes {number}."))


@pytest.fixture(params=SUMMARY_LANES)
def lane(request: pytest.FixtureRequest) -> SummaryLane:
    return SUMMARY_LANES[request.param]


def asked(
    lane: SummaryLane, items: list[Json], server: SmallWindow, window: int | None, **fields: Any
) -> httpx.Response:
    with lane.serving(server) as upstream, serving(lane.settings(upstream.url, window)) as url:
        body = {"model": "m", "input": items, "tools": TOOLS, **fields}
        return httpx.post(f"{url}/v1/responses", json=body, timeout=30)


@pytest.mark.parametrize(("window", "count"), [(WINDOW, 40), (None, 8)], ids=["window known", "window learnt"])
def test_the_oldest_outputs_are_shortened(lane: SummaryLane, window: int | None, count: int) -> None:
    server = SmallWindow(WINDOW, notes)
    answer = asked(lane, [TASK, *rounds(count), TRIGGER], server, window)
    result = answer.json()
    assert (answer.status_code, result.get("status")) == (200, "completed"), answer.text
    assert [item["type"] for item in result["output"]] == ["compaction"]
    (taken,) = server.taken
    assert len(server.refused) == (window is None)
    assert lane.texts(taken)[-1] == ("user", SUM_UP)
    outputs = [text for role, text in lane.texts(taken) if role == "tool"]
    assert [output.split(" ")[0] for output in outputs] == [f"begin-{number}" for number in range(count)]
    short = ["characters were left out here" in output for output in outputs]
    assert short == sorted(short, reverse=True), "an older output is shortened before a newer one"
    assert any(short)


def test_a_conversation_over_the_threshold_is_summed_up_and_then_answered(lane: SummaryLane) -> None:
    server = SmallWindow(WINDOW, notes)
    items = [TASK, *rounds(40), {"role": "user", "content": "And now?"}]
    answer = asked(lane, items, server, WINDOW, context_management=[THRESHOLD]).json()
    assert (answer["status"], [item["type"] for item in answer["output"]]) == ("completed", ["compaction", "message"])
    _, last = server.taken
    assert answer["usage"]["total_tokens"] == 24
    assert lane.texts(last)[-1] == ("user", "And now?")
    assert any("Notes 0." in text for _, text in lane.texts(last))


@pytest.mark.parametrize("more", [[], [TRIGGER]], ids=["to be answered", "to be summed up"])
def test_what_is_too_long_all_the_same_is_the_error_of_the_upstream(lane: SummaryLane, more: list[Json]) -> None:
    server = SmallWindow(WINDOW, notes)
    items = [TASK, *rounds(60, output="short", arguments="because " * 300), *more]
    answer = asked(lane, items, server, WINDOW)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert (len(server.taken), len(server.refused)) == (0, 1 + len(more))
