"""A conversation that is too long for one ask of its model: it is summed up in parts, or loses its oldest steps."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.compaction.history_parts import SHORT_OUTPUT
from app.compaction.summary import MOST_PARTS
from app.compaction.summary_text import INTRODUCTION, SUM_UP
from app.settings import Server
from app.turns.attempts import MOST_HALVINGS
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES, SummaryLane
from tests.support.tool_rounds import TASK, THRESHOLD, TOOLS, rounds
from tests.wire.script import text_turn
from tests.wire.servers.small_window import SmallWindow
from tests.wire.servers.steps import Ask, Pause, Status, Step

Json = dict[str, Any]

WINDOW = 12_000


def notes(number: int, _ask: Ask) -> list[Step]:
    return list(text_turn(f"Notes up to part {number}."))


@pytest.fixture(params=SUMMARY_LANES)
def lane(request: pytest.FixtureRequest) -> SummaryLane:
    return SUMMARY_LANES[request.param]


def asked(
    lane: SummaryLane, items: list[Json], server: SmallWindow, window: int | None, **fields: Any
) -> httpx.Response:
    with lane.serving(server) as upstream, serving(lane.settings(upstream.url, window)) as url:
        body = {"model": "m", "input": items, "tools": TOOLS, **fields}
        return httpx.post(f"{url}/v1/responses", json=body, timeout=30)


@pytest.mark.parametrize("window", [WINDOW, None], ids=["window known", "window learnt"])
@pytest.mark.parametrize(
    "items",
    [
        [TASK, *rounds(40)],
        [TASK, *rounds(60, output="short", arguments="because " * 300)],
        [TASK, *rounds(2, arguments="because " * 30_000)],
        [{"role": "user", "content": "word " * 40_000}, {"role": "assistant", "content": "Yes."}],
    ],
    ids=["long outputs", "long calls", "one call that is too long", "one message that is too long"],
)
def test_what_is_too_long_for_one_ask_is_summed_up_in_parts(
    lane: SummaryLane, items: list[Json], window: int | None
) -> None:
    server = SmallWindow(WINDOW, notes)
    answer = asked(lane, [*items, {"type": "compaction_trigger"}], server, window)
    result = answer.json()
    assert (answer.status_code, result.get("status")) == (200, "completed"), answer.text
    assert [item["type"] for item in result["output"]] == ["compaction"]
    count = len(server.taken)
    assert 1 <= count <= MOST_PARTS
    assert result["usage"]["total_tokens"] == 12 * count, "all asks are counted"
    assert len(server.refused) <= (MOST_HALVINGS if window is None else 1)
    for number, ask in enumerate(server.taken):
        texts = lane.texts(ask)
        assert texts[-1] == ("user", SUM_UP)
        if number:
            assert ("user", f"{INTRODUCTION}\n\nNotes up to part {number - 1}.") in texts


def test_every_call_is_in_a_part_and_only_the_oldest_outputs_are_shortened(lane: SummaryLane) -> None:
    server = SmallWindow(WINDOW, notes)
    asked(lane, [TASK, *rounds(40), {"type": "compaction_trigger"}], server, WINDOW)
    outputs = [text for ask in server.taken for role, text in lane.texts(ask) if role == "tool"]
    assert [output.split(" ")[0] for output in outputs] == [f"begin-{number}" for number in range(40)]
    short = ["characters were left out here" in output for output in outputs]
    assert short == sorted(short, reverse=True), "an older output is shortened before a newer one"
    assert all(len(output) <= SHORT_OUTPUT + 100 for output, is_short in zip(outputs, short, strict=True) if is_short)
    assert any(short)


def test_a_conversation_for_more_asks_than_are_made_loses_its_beginning_with_a_warning(lane: SummaryLane) -> None:
    server = SmallWindow(WINDOW, notes)
    items = [TASK, *rounds(200, output="short", arguments="because " * 300)]
    answer = asked(lane, [*items, {"type": "compaction_trigger"}], server, WINDOW)
    assert answer.json()["status"] == "completed"
    assert len(server.taken) <= MOST_PARTS
    assert "oldest items: the conversation is too long for 8 asks" in answer.headers["x-am-warnings"]


BROKEN = Status(500, {"error": {"message": "It broke."}})


@pytest.mark.parametrize("taken", [0, 1], ids=["the first ask", "the second ask"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_summary_fails_with_any_of_its_parts(lane: SummaryLane, taken: int, *, stream: bool) -> None:
    """Also after the client was told that the answer has begun."""

    def broken(number: int, ask: Ask) -> list[Step]:
        return notes(number, ask) if number < taken else [Pause(0.3), BROKEN]

    server = SmallWindow(WINDOW, broken)
    items = [TASK, *rounds(40), {"type": "compaction_trigger"}]
    with lane.serving(server) as upstream:
        settings = lane.settings(upstream.url, WINDOW)
        with serving(replace(settings, server=Server(first_payload_wait=0.1))) as url:
            body = {"model": "m", "input": items, "tools": TOOLS, "stream": stream}
            answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
    if not stream:
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
        return
    *_, last = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "server_error")
    assert "answered 500" in last["response"]["error"]["message"]


def test_a_conversation_over_the_threshold_is_summed_up_in_parts_and_then_answered(lane: SummaryLane) -> None:
    server = SmallWindow(WINDOW, notes)
    items = [TASK, *rounds(40), {"role": "user", "content": "And now?"}]
    answer = asked(lane, items, server, WINDOW, context_management=[THRESHOLD]).json()
    assert (answer["status"], [item["type"] for item in answer["output"]]) == ("completed", ["compaction", "message"])
    *parts, last = server.taken
    assert len(parts) > 1
    assert answer["usage"]["total_tokens"] == 12 * len(server.taken)
    assert lane.texts(last)[-1] == ("user", "And now?")
    assert any(f"Notes up to part {len(parts) - 1}." in text for _, text in lane.texts(last))


@pytest.mark.parametrize("window", [WINDOW, None], ids=["window known", "window learnt"])
def test_truncation_shortens_the_oldest_outputs_and_then_drops_the_oldest_steps(
    lane: SummaryLane, window: int | None
) -> None:
    server = SmallWindow(WINDOW, notes)
    items = [{"role": "developer", "content": "Be kind."}, TASK, *rounds(60)]
    items = [{"id": f"item_{index}", **item} for index, item in enumerate(items)]
    answer = asked(lane, items, server, window, truncation="auto")
    result = answer.json()
    assert (answer.status_code, result.get("status")) == (200, "completed"), answer.text
    (taken,) = server.taken
    texts = [text for _, text in lane.texts(taken)]
    assert texts[:2] == ["Be kind.", TASK["content"]]
    assert texts[-1].startswith("begin-59 ")
    changed = result["input_transformations"]
    assert {(each["action"], each["reason"]) for each in changed} == {
        ("removed", "context_window"),
        ("shortened", "context_window"),
    }
    removed = {each["id"] for each in changed if each["action"] == "removed"}
    assert {"item_0", "item_1", items[-1]["id"]}.isdisjoint(removed)
    assert "'truncation: auto': the oldest items were left out" in answer.headers["x-am-warnings"]


def test_truncation_keeps_the_task_of_the_steps_that_it_keeps(lane: SummaryLane) -> None:
    """The newest message of the user is not the only one that a conversation may begin with."""
    server = SmallWindow(WINDOW, notes)
    items = [{"role": "user", "content": "Hello."}, *rounds(10), TASK, *rounds(60), {"role": "user", "content": "Why?"}]
    answer = asked(lane, items, server, WINDOW, truncation="auto")
    (taken,) = server.taken
    texts = [text for _, text in lane.texts(taken)]
    assert (texts[0], texts[-1]) == (TASK["content"], "Why?")
    assert texts[-2].startswith("begin-59 ")
    assert len(texts) > 6
    removed = [each["type"] for each in answer.json()["input_transformations"] if each["action"] == "removed"]
    assert removed.count("function_call") == removed.count("function_call_output") > 10


@pytest.mark.parametrize("window", [WINDOW, None], ids=["window known", "window learnt"])
@pytest.mark.parametrize(
    "last", [rounds(2, output="line of the file\n" * 4_000), [{"role": "user", "content": "Why?"}]]
)
def test_what_is_kept_beside_a_summary_fits_where_the_threshold_is_too_high(
    lane: SummaryLane, last: list[Json], window: int | None
) -> None:
    """Long outputs of the last step, and messages of the user."""
    server = SmallWindow(WINDOW, notes)
    users = [{"role": "user", "content": f"Read {number}: " + "and that " * 400} for number in range(20)]
    items = [TASK, *rounds(60), *users, *rounds(2), *last]
    managed = [{"type": "compaction", "compact_threshold": 80_000}]
    answer = asked(lane, items, server, window, context_management=managed).json()
    assert answer.get("status") == "completed", answer
    assert [item["type"] for item in answer["output"]] == ["compaction", "message"]


def test_a_conversation_that_was_summed_up_before_is_summed_up_again(lane: SummaryLane) -> None:
    """Its items are those of the window, so their positions are not those of the request."""
    server = SmallWindow(WINDOW * 10, notes)
    managed = {"tools": TOOLS, "context_management": [{"type": "compaction", "compact_threshold": 8_000}]}
    with lane.serving(server) as upstream, serving(lane.settings(upstream.url, None)) as url:
        items = [TASK, *rounds(8), {"role": "user", "content": "And now?"}]
        for _ in range(2):
            answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, **managed}, timeout=30)
            result = answer.json()
            assert (answer.status_code, [item["type"] for item in result["output"]]) == (200, ["compaction", "message"])
            items += [*result["output"], {"role": "user", "content": "And then?"}, *rounds(8)]
    first, answered, second, last = map(lane.texts, server.taken)
    assert first[-1] == second[-1] == ("user", SUM_UP)
    assert ("user", f"{INTRODUCTION}\n\nNotes up to part 0.") in second
    assert ("user", f"{INTRODUCTION}\n\nNotes up to part 2.") in last
    assert answered[-1][1] == "And now?"
    assert last[-1][1].startswith("begin-7 ")


MANAGED = {"context_management": [THRESHOLD]}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [(MANAGED, "The summary lacks"), ({"truncation": "auto"}, "'truncation: auto': the oldest items")],
    ids=["summary", "truncation"],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_warnings_of_a_later_ask_reach_the_client(
    lane: SummaryLane, fields: Json, sentence: str, *, stream: bool
) -> None:
    """In the last event, if the header was sent before the window was learnt."""
    server = SmallWindow(WINDOW, notes)
    items = [TASK, *rounds(200, output="short", arguments="because " * 300), {"role": "user", "content": "Why?"}]
    with lane.serving(server) as upstream:
        settings = replace(lane.settings(upstream.url, None), server=Server(first_payload_wait=0.001))
        with serving(settings) as url:
            body = {"model": "m", "input": items, "tools": TOOLS, "stream": stream, **fields}
            answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
    if stream:
        assert "x-am-warnings" not in answer.headers
        *_, last = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        told = last["x_am_warnings"]
    else:
        told = json.loads(answer.headers["x-am-warnings"])
    assert told
    assert all(each.startswith(sentence) for each in told)


def test_without_truncation_the_same_conversation_is_an_error_after_one_ask(lane: SummaryLane) -> None:
    server = SmallWindow(WINDOW, notes)
    answer = asked(lane, [TASK, *rounds(60)], server, WINDOW)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert (len(server.taken), len(server.refused)) == (0, 1)


def test_a_server_that_refuses_everything_is_asked_a_bounded_number_of_times(lane: SummaryLane) -> None:
    server = SmallWindow(1, notes)
    answer = asked(lane, [TASK, *rounds(40), {"type": "compaction_trigger"}], server, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert len(server.refused) <= MOST_HALVINGS + 1
