"""Conversations that are summed up: what the model is asked, what the client carries, how it is taken up again."""

import pytest

from app.compaction.remaining_history import Window, opened_window
from app.compaction.summary_text import CUT, SUM_UP
from app.dialects.chat.chat_options import ChatOptions
from app.protocol.problems import ProblemError
from tests.support.chat_requests import assistant, call, output, user
from tests.support.compacting_turns import (
    HISTORY,
    OPEN,
    USAGE,
    Json,
    asked,
    client_events,
    compaction,
    new_turn,
    outcome,
    summary_text,
)
from tests.support.emitters import ReadableSealer
from tests.support.warning_sentences import sentences
from tests.wire.script import says, stops, thinks

TRIGGER: Json = {"type": "compaction_trigger"}


def test_a_trigger_asks_for_a_summary_and_nothing_else() -> None:
    """What shapes an answer does not shape a summary; tools stay where prompt caches have them, not to be called."""
    turn = new_turn(
        [*HISTORY, TRIGGER],
        instructions="Be brief.",
        max_output_tokens=16,
        tools=[{"type": "function", "name": "f", "parameters": {}}],
        tool_choice="required",
        text={"format": {"type": "json_object"}},
    )
    items = [("system", "Be brief."), ("user", "Do it."), ("assistant", "Done."), ("user", "Well done.")]
    assert asked(turn) == [*items, ("user", SUM_UP)]
    assert turn.ask["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in turn.ask["tools"]] == ["f"]
    assert turn.ask.keys().isdisjoint({"max_tokens", "response_format"})
    assert sentences(turn.warnings) == []


def test_a_trigger_is_answered_with_one_item() -> None:
    """What the model thinks on the way is not told: the client counts items."""
    events = client_events(
        new_turn([*HISTORY, TRIGGER]), [thinks("hm"), says("1. The user wants it "), says("done."), stops(), USAGE]
    )
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    [item] = events[-1]["response"]["output"]
    assert item == {
        "type": "compaction",
        "id": "cmp_AM-2",
        "encrypted_content": 'compaction {"summary":"1. The user wants it done."}',
    }
    assert events[2]["item"] == {**item, "encrypted_content": ""}
    assert events[-1]["response"]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([says("Half of"), stops("length")], ("incomplete", ["compaction"], "")),
        ([says("Half of")], ("failed", [], "The model's server ended its answer without saying why: it was cut off.")),
        ([stops()], ("failed", [], "The model was asked to summarize the conversation, and returned no summary.")),
        (
            [thinks("hm"), says(" \n"), stops()],
            ("failed", [], "The model was asked to summarize the conversation, and returned no summary."),
        ),
        ([says("<think>hm</think>Notes"), stops()], ("completed", ["compaction"], "")),
    ],
)
def test_how_a_summary_may_end(answer: list[Json], expected: tuple[str, list[str], str]) -> None:
    assert outcome(client_events(new_turn([*HISTORY, TRIGGER]), answer)) == expected


def test_a_summary_that_was_cut_says_so_to_whoever_reads_it() -> None:
    [item] = client_events(new_turn([*HISTORY, TRIGGER]), [says("Half of"), stops("length")])[-1]["response"]["output"]
    assert opened_window(item["encrypted_content"], ReadableSealer(), "input[0]") == Window(summary=f"Half of\n\n{CUT}")


def test_what_a_model_refuses_to_sum_up_is_told_in_its_words() -> None:
    refusal = {"choices": [{"delta": {"refusal": "I will not."}}]}
    status, items, message = outcome(client_events(new_turn([*HISTORY, TRIGGER]), [refusal, stops()]))
    assert (status, items, message) == ("failed", [], "The model refused to sum the conversation up: I will not.")


@pytest.mark.parametrize("items", [[TRIGGER], [TRIGGER, TRIGGER]])
def test_nothing_cannot_be_summed_up(items: list[Json]) -> None:
    if len(items) == 1:
        with pytest.raises(ProblemError) as raised:
            new_turn(items)
        assert raised.value.problem.param == "input"
    else:
        assert sentences(new_turn(items).warnings) == []


def test_where_nothing_is_sealed_nothing_can_be_summed_up() -> None:
    with pytest.raises(ProblemError) as raised:
        new_turn([*HISTORY, TRIGGER], ChatOptions())
    assert raised.value.problem.code == "unsupported_parameter"


def test_a_trigger_that_is_not_the_end_is_left_out_aloud() -> None:
    turn = new_turn([TRIGGER, *HISTORY])
    assert sentences(turn.warnings) == ["input[0] was left out: it has its effect only at the end of 'input'."]
    assert asked(turn)[-1] == ("user", "Well done.")


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_a_compaction_item_is_told_as_what_it_holds(kind: str) -> None:
    turn = new_turn([user("Do it."), compaction("Notes.") | {"type": kind, "id": "cmp_1"}, user("Go on.")])
    assert asked(turn) == [("user", "Do it."), summary_text("Notes."), ("user", "Go on.")]
    assert sentences(turn.warnings) == []


def test_what_a_summary_covers_is_not_told_again() -> None:
    """Of what stands before it only words of system and user are left; earlier summaries are in the last one."""
    history = [
        {"role": "developer", "content": "Be kind."}, user("Do it."), compaction("Early notes."), assistant("On it."),
        call("a"), output("a"), user("Well?"), compaction("Notes."), user("Go on."),
    ]  # fmt: skip
    expected = [
        ("system", "Be kind."),
        ("user", "Do it."),
        ("user", "Well?"),
        summary_text("Notes."),
        ("user", "Go on."),
    ]
    assert asked(new_turn(history)) == expected


def test_a_whole_window_takes_the_place_of_all_that_was_before_it() -> None:
    window = {"whole": True, "before": [user("Do it.")], "after": [call("a"), output("a")]}
    turn = new_turn([user("Forgotten."), assistant("Forgotten."), compaction("Notes.", **window), user("Go on.")])
    assert asked(turn) == [
        ("user", "Do it."),
        summary_text("Notes."),
        ("assistant", None),
        ("tool", "done"),
        ("user", "Go on."),
    ]
    assert sentences(turn.warnings) == []


def test_problems_and_warnings_name_the_positions_of_the_client() -> None:
    window = compaction("Notes.", whole=True, before=[user("Do it.")])
    turn = new_turn([user("Forgotten."), window, {"type": "mcp_list_tools"}])
    assert [warning.param for warning in turn.warnings] == ["input[2]"]
    with pytest.raises(ProblemError) as raised:
        new_turn([user("Forgotten."), window, {"type": "from_the_future"}])
    assert raised.value.problem.param == "input[2].type"


def test_what_was_sealed_elsewhere_is_left_out_aloud() -> None:
    foreign = {"type": "compaction", "encrypted_content": "gAAAAABp"}
    for options in (OPEN, ChatOptions()):
        turn = new_turn([user("Do it."), foreign, user("Go on.")], options)
        assert asked(turn) == [("user", "Do it."), ("user", "Go on.")]
        assert sentences(turn.warnings) == [
            "input[1] was left out: only the server that summarized this conversation can read it."
        ]
