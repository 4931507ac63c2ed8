"""A conversation that has grown too long is summed up first, and then answered."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.compaction.remaining_history import MOST_VERBATIM, opened_window
from app.compaction.summary_text import SUM_UP
from app.compaction.summary_turn import SummaryTurn
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.sealing import EnvelopeSealer
from tests.support.chat_requests import assistant, call, output, user
from tests.support.compacting_turns import (
    HISTORY,
    OPEN,
    USAGE,
    Json,
    Turn,
    asked,
    client_events,
    compaction,
    new_turn,
    outcome,
    read,
    second_turn,
    summary_text,
)
from tests.support.emitters import ReadableSealer
from tests.support.warning_sentences import sentences
from tests.wire.script import says, stops

LONG = "word " * 2_000


def managed(items: list[Json], threshold: int = 1_000, **fields: Any) -> Turn:
    """A turn that may sum up what goes before it."""
    return new_turn(items, context_management=[{"type": "compaction", "compact_threshold": threshold}], **fields)


LOOP = [user("Do it."), assistant("Looking."), call("a"), output("a", LONG), call("b"), output("b", "B.")]


def test_a_conversation_that_is_short_enough_is_left_alone() -> None:
    turn = managed(HISTORY)
    assert asked(turn)[-1] == ("user", "Well done.")
    assert isinstance(turn, ChatTurn)
    assert sentences(turn.warnings) == []


def test_a_conversation_that_is_too_long_is_summed_up_first_and_then_answered() -> None:
    items = [user("Do it."), assistant(LONG), user("Well done.")]
    turn = managed(items, instructions="Be brief.")
    assert asked(turn) == [("system", "Be brief."), ("user", "Do it."), ("assistant", LONG), ("user", SUM_UP)]
    turn.begin()
    assert read(turn, [says("Notes."), stops(), USAGE]) == []
    assert isinstance(turn, SummaryTurn)
    assert [type(event).__name__ for event in turn.finish()] == ["OutputItemAdded", "OutputItemDone"]
    assert asked(second_turn(turn)) == [
        ("system", "Be brief."), ("user", "Do it."), summary_text("Notes."), ("user", "Well done."),
    ]  # fmt: skip


def test_both_asks_are_counted_and_the_item_comes_first() -> None:
    turn = managed([user("Do it."), assistant(LONG), user("Well done.")])
    events = client_events(turn, [says("Notes."), stops(), USAGE], [says("Thanks."), stops(), USAGE])
    assert outcome(events) == ("completed", ["compaction", "message"], "")
    assert events[-1]["response"]["usage"]["total_tokens"] == 24
    assert turn.notes == {"compaction": "threshold"}


def test_the_item_alone_is_enough_to_go_on_with() -> None:
    """Whether or not the client throws away what came before it."""
    messages = [{"role": "developer", "content": "Be kind."}, user("Do it."), assistant(LONG), user("Well done.")]
    events = client_events(managed(messages), [says("Notes."), stops()], [says("Thanks."), stops()])
    output_items = events[-1]["response"]["output"]
    expected = [
        ("system", "Be kind."), ("user", "Do it."), summary_text("Notes."), ("user", "Well done."),
        ("assistant", "Thanks."), ("user", "And now?"),
    ]  # fmt: skip
    for history in ([], messages):
        turn = new_turn([*history, *output_items, user("And now?")])
        assert asked(turn) == expected
        assert sentences(turn.warnings) == []


def test_the_last_step_of_a_tool_loop_is_kept_to_the_letter() -> None:
    turn = managed(LOOP)
    assert [role for role, _ in asked(turn)] == ["user", "assistant", "tool", "user"]
    turn.begin()
    read(turn, [says("Notes."), stops()])
    assert isinstance(turn, SummaryTurn)
    turn.finish()
    assert asked(second_turn(turn)) == [
        ("user", "Do it."), summary_text("Notes."), ("assistant", None), ("tool", "B."),
    ]  # fmt: skip


def test_a_last_step_that_is_too_long_itself_is_summed_up_as_well() -> None:
    turn = managed(LOOP[:4])
    assert [role for role, _ in asked(turn)] == ["user", "assistant", "tool", "user"]
    events = client_events(turn, [says("Notes."), stops()], [says("Thanks."), stops()])
    assert outcome(events)[1] == ["compaction", "message"]


@pytest.mark.parametrize(("count", "kept"), [(3, 6), (MOST_VERBATIM // 4 + 1, 0)])
def test_a_last_step_of_too_many_calls_is_summed_up_as_well(count: int, kept: int) -> None:
    calls = [call(f"c{n}") for n in range(count)]
    before = [user(LONG * 70), call("before"), output("before")]
    turn = managed([*before, *calls, *[output(f"c{n}") for n in range(count)]], threshold=150_000)
    item, _ = client_events(turn, [says("So."), stops()], [says("Yes."), stops()])[-1]["response"]["output"]
    window = opened_window(item["encrypted_content"], ReadableSealer(), "input[0]")
    assert window is not None
    assert (window.summary, len(window.after)) == ("So.", kept)


@pytest.mark.parametrize(
    ("items", "options"),
    [
        ([user(LONG)], OPEN),
        ([user(LONG), user("More.")], OPEN),
        ([assistant(LONG), user("Hi")], ChatOptions()),
        ([assistant(LONG), *[user("Hi")] * (MOST_VERBATIM + 1)], OPEN),
    ],
    ids=["one message", "only the user spoke", "nothing may be sealed", "too much to be kept"],
)
def test_what_cannot_be_summed_up_is_said(items: list[Json], options: ChatOptions) -> None:
    threshold = [{"type": "compaction", "compact_threshold": 1_000}]
    turn = new_turn(items, options, context_management=threshold)
    [warning] = sentences(turn.warnings)
    assert warning.startswith("'context_management' has no effect on this conversation. ")
    assert isinstance(turn, ChatTurn)


@pytest.mark.parametrize(
    "entry", [{"type": "truncation"}, {"type": "compaction"}, {"type": "x", "compact_threshold": 9}]
)
def test_other_ways_to_manage_a_context_are_warned_of(entry: Json) -> None:
    turn = new_turn([assistant(LONG), user("Hi")], context_management=[entry])
    assert sentences(turn.warnings) == ["'context_management[0]' has no effect: it is no compaction with a threshold."]


@pytest.mark.parametrize("answer", [[stops()], [says("Half")], [{"error": {"message": "x", "code": "y"}}]])
def test_a_turn_whose_conversation_could_not_be_summed_up_fails(answer: list[Json]) -> None:
    turn = managed([user("Do it."), assistant(LONG), user("Well done.")])
    events = client_events(turn, answer)
    assert events[-1]["response"]["status"] == "failed"


texts = st.text(min_size=1).filter(lambda text: bool(text.strip()))


spoken = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), texts)


called = st.builds(lambda number, text: [call(f"c{number}"), output(f"c{number}", text)], st.integers(), texts)


histories: st.SearchStrategy[list[Json]] = st.lists(st.one_of(spoken.map(lambda item: [item]), called), max_size=8).map(
    lambda held: [item for items in held for item in items]
)


@given(histories, texts, texts)
def test_any_conversation_goes_on_from_its_item_alone_as_from_the_whole(
    history: list[Json], summary: str, prompt: str
) -> None:
    """With a real seal. The item is all that is needed, it needs no warning, and the summary is in it to the letter."""
    sealer = EnvelopeSealer(["k" * 32], chance=bytes, now=lambda: 0.0).for_owner("")
    options = ChatOptions(sealer=sealer)
    items = [user("Go."), assistant("So be it."), *history, user(prompt)]
    wanted = [{"type": "compaction", "compact_threshold": 1}]
    events = client_events(
        new_turn(items, options, context_management=wanted), [says(summary), stops()], [says("Yes."), stops()]
    )
    item, answer = events[-1]["response"]["output"]
    alone, behind = (new_turn([*before, item, answer, user("More.")], options) for before in ([], items))
    assert asked(alone) == asked(behind)
    assert summary_text(summary.strip()) in asked(alone)
    forged = {**item, "encrypted_content": item["encrypted_content"][:-2] + "AA"}
    if forged != item:
        assert new_turn([user("Hi"), forged], options).warnings


@given(st.lists(st.sampled_from([user("Hi"), assistant("Yo"), call("a"), output("a")]), max_size=5), texts)
def test_the_ask_is_the_same_in_every_turn(history: list[Json], summary: str) -> None:
    """To the byte, or prompt caches are lost."""
    items = [*history, compaction(summary), user("Go on.")]
    first, later = new_turn(items).ask["messages"], new_turn([*items, assistant("Yes."), user("More.")]).ask["messages"]
    assert json.dumps(later[: len(first)]) == json.dumps(first)


def test_tools_behind_a_compaction_item_are_named_by_the_position_at_which_they_were_posted() -> None:
    added = {"type": "additional_tools", "tools": [{"type": "of_tomorrow"}]}
    turn = new_turn([assistant("Before."), compaction("So.", whole=True, after=[user("Hi")] * 3), added])
    [warning] = sentences(turn.warnings)
    assert warning.startswith("input[2].tools[0] was left out: ")
