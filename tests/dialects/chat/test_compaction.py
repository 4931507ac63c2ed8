"""Conversations that are summed up: what the model is asked, what the client carries, how it is taken up again."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.compaction.prompt import CUT, SUM_UP, TOLD, Window, opened_window, sealed_window
from app.compaction.window import LETTER
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.problems import ProblemError
from app.protocol.response import Identity
from app.sealing import EnvelopeSealer
from tests.support import grammar
from tests.support.chat_requests import assistant, call, output, user
from tests.support.script import says, stops, thinks
from tests.support.stage import OpenBook, plain
from tests.support.warned import sentences

Json = dict[str, Any]

TRIGGER: Json = {"type": "compaction_trigger"}
LONG = "word " * 2_000
OPEN = ChatOptions(sealer=OpenBook())
USAGE: Json = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}


def new_turn(items: list[Json], options: ChatOptions = OPEN, **fields: Any) -> ChatTurn:
    """A turn about these items."""
    numbers = count(2)
    return ChatTurn(
        parse_request(json.dumps({"model": "m", "input": items, **fields}).encode()),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        mint=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def managed(items: list[Json], threshold: int = 1_000, **fields: Any) -> ChatTurn:
    """A turn that may sum up what goes before it."""
    return new_turn(items, context_management=[{"type": "compaction", "compact_threshold": threshold}], **fields)


def asked(turn: ChatTurn) -> list[tuple[str, Any]]:
    """Role and content of each message."""
    return [(message["role"], message["content"]) for message in turn.ask["messages"]]


def compaction(summary: str, **more: Any) -> Json:
    """The item that a client brings back."""
    return {"type": "compaction", "encrypted_content": sealed_window(Window(summary=summary, **more), OpenBook())}


def told(summary: str) -> tuple[str, str]:
    return ("user", f"{TOLD}\n\n{summary}")


def heard(turn: ChatTurn, *answers: list[Json]) -> list[Json]:
    """The whole stream of a model's server that answers so, ask by ask."""
    first, *further = answers
    events = turn.begin()
    for chunk in first:
        events += turn.receive(chunk)
    for answer in further:
        more = turn.go_on()
        assert more is not None
        events += more[0]
        for chunk in answer:
            events += turn.receive(chunk)
    if not turn.over:
        assert turn.go_on() is None
        events += turn.end()
    read = plain(events)
    grammar.check(read)
    return read


def outcome(events: list[Json]) -> tuple[str, list[str], str]:
    """How it ended, with which items, and why."""
    response = events[-1]["response"]
    return (
        response["status"],
        [item["type"] for item in response["output"]],
        (response["error"] or {}).get("message", ""),
    )


SAID = [user("Do it."), assistant("Done."), user("Well done.")]


def test_a_trigger_asks_for_a_summary_and_nothing_else() -> None:
    """What shapes an answer does not shape a summary; tools stay where prompt caches have them, not to be called."""
    turn = new_turn(
        [*SAID, TRIGGER],
        instructions="Be brief.",
        max_output_tokens=16,
        tools=[{"type": "function", "name": "f", "parameters": {}}],
        tool_choice="required",
        text={"format": {"type": "json_object"}},
    )
    said = [("system", "Be brief."), ("user", "Do it."), ("assistant", "Done."), ("user", "Well done.")]
    assert asked(turn) == [*said, ("user", SUM_UP)]
    assert turn.ask["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in turn.ask["tools"]] == ["f"]
    assert turn.ask.keys().isdisjoint({"max_tokens", "response_format"})
    assert sentences(turn.warnings) == []


def test_a_trigger_is_answered_with_one_item() -> None:
    """What the model thinks on the way is not told: the client counts items."""
    events = heard(
        new_turn([*SAID, TRIGGER]), [thinks("hm"), says("1. The user wants it "), says("done."), stops(), USAGE]
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
        ([stops()], ("failed", [], "The model was asked to sum the conversation up, and wrote none.")),
        (
            [thinks("hm"), says(" \n"), stops()],
            ("failed", [], "The model was asked to sum the conversation up, and wrote none."),
        ),
        ([says("<think>hm</think>Notes"), stops()], ("completed", ["compaction"], "")),
    ],
)
def test_how_a_summary_may_end(answer: list[Json], expected: tuple[str, list[str], str]) -> None:
    assert outcome(heard(new_turn([*SAID, TRIGGER]), answer)) == expected


def test_a_summary_that_was_cut_says_so_to_whoever_reads_it() -> None:
    [item] = heard(new_turn([*SAID, TRIGGER]), [says("Half of"), stops("length")])[-1]["response"]["output"]
    assert opened_window(item["encrypted_content"], OpenBook(), "input[0]") == Window(summary=f"Half of\n\n{CUT}")


def test_what_a_model_refuses_to_sum_up_is_told_in_its_words() -> None:
    refusal = {"choices": [{"delta": {"refusal": "I will not."}}]}
    status, items, message = outcome(heard(new_turn([*SAID, TRIGGER]), [refusal, stops()]))
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
        new_turn([*SAID, TRIGGER], ChatOptions())
    assert raised.value.problem.code == "unsupported_parameter"


def test_a_trigger_that_is_not_the_end_is_left_out_aloud() -> None:
    turn = new_turn([TRIGGER, *SAID])
    assert sentences(turn.warnings) == ["input[0] was left out: it has its effect only at the end of 'input'."]
    assert asked(turn)[-1] == ("user", "Well done.")


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_a_compaction_item_is_told_as_what_it_holds(kind: str) -> None:
    turn = new_turn([user("Do it."), compaction("Notes.") | {"type": kind, "id": "cmp_1"}, user("Go on.")])
    assert asked(turn) == [("user", "Do it."), told("Notes."), ("user", "Go on.")]
    assert sentences(turn.warnings) == []


def test_what_a_summary_covers_is_not_told_again() -> None:
    """Of what stands before it only words of system and user are left; earlier summaries are in the last one."""
    history = [
        {"role": "developer", "content": "Be kind."}, user("Do it."), compaction("Early notes."), assistant("On it."),
        call("a"), output("a"), user("Well?"), compaction("Notes."), user("Go on."),
    ]  # fmt: skip
    expected = [("system", "Be kind."), ("user", "Do it."), ("user", "Well?"), told("Notes."), ("user", "Go on.")]
    assert asked(new_turn(history)) == expected


def test_a_whole_window_takes_the_place_of_all_that_was_before_it() -> None:
    window = {"whole": True, "before": [user("Do it.")], "after": [call("a"), output("a")]}
    turn = new_turn([user("Forgotten."), assistant("Forgotten."), compaction("Notes.", **window), user("Go on.")])
    assert asked(turn) == [
        ("user", "Do it."),
        told("Notes."),
        ("assistant", None),
        ("tool", "done"),
        ("user", "Go on."),
    ]
    assert sentences(turn.warnings) == []


def test_problems_and_warnings_name_the_seats_of_the_client() -> None:
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
            "input[1] was left out: only the server that summed this conversation up can read it."
        ]


LOOP = [user("Do it."), assistant("Looking."), call("a"), output("a", LONG), call("b"), output("b", "B.")]


def test_a_conversation_that_is_short_enough_is_left_alone() -> None:
    turn = managed(SAID)
    assert asked(turn)[-1] == ("user", "Well done.")
    assert turn.go_on() is None
    assert sentences(turn.warnings) == []


def test_a_conversation_that_is_too_long_is_summed_up_first_and_then_answered() -> None:
    items = [user("Do it."), assistant(LONG), user("Well done.")]
    turn = managed(items, instructions="Be brief.")
    assert asked(turn) == [("system", "Be brief."), ("user", "Do it."), ("assistant", LONG), ("user", SUM_UP)]
    turn.begin()
    for chunk in (says("Notes."), stops(), USAGE):
        assert turn.receive(chunk) == []
    more = turn.go_on()
    assert more is not None
    events, ask = more
    assert [type(event).__name__ for event in events] == ["OutputItemAdded", "OutputItemDone"]
    assert [(message["role"], message["content"]) for message in ask["messages"]] == [
        ("system", "Be brief."), ("user", "Do it."), told("Notes."), ("user", "Well done."),
    ]  # fmt: skip


def test_both_asks_are_counted_and_the_item_comes_first() -> None:
    turn = managed([user("Do it."), assistant(LONG), user("Well done.")])
    events = heard(turn, [says("Notes."), stops(), USAGE], [says("Thanks."), stops(), USAGE])
    assert outcome(events) == ("completed", ["compaction", "message"], "")
    assert events[-1]["response"]["usage"]["total_tokens"] == 24
    assert turn.notes == {"compaction": "threshold"}


def test_the_item_alone_is_enough_to_go_on_with() -> None:
    """Whether or not the client throws away what came before it."""
    said = [{"role": "developer", "content": "Be kind."}, user("Do it."), assistant(LONG), user("Well done.")]
    events = heard(managed(said), [says("Notes."), stops()], [says("Thanks."), stops()])
    output_items = events[-1]["response"]["output"]
    expected = [
        ("system", "Be kind."), ("user", "Do it."), told("Notes."), ("user", "Well done."), ("assistant", "Thanks."),
        ("user", "And now?"),
    ]  # fmt: skip
    for history in ([], said):
        turn = new_turn([*history, *output_items, user("And now?")])
        assert asked(turn) == expected
        assert sentences(turn.warnings) == []


def test_the_last_step_of_a_tool_loop_is_kept_to_the_letter() -> None:
    turn = managed(LOOP)
    assert [role for role, _ in asked(turn)] == ["user", "assistant", "tool", "user"]
    turn.begin()
    for chunk in (says("Notes."), stops()):
        turn.receive(chunk)
    more = turn.go_on()
    assert more is not None
    assert [(message["role"], message["content"]) for message in more[1]["messages"]] == [
        ("user", "Do it."), told("Notes."), ("assistant", None), ("tool", "B."),
    ]  # fmt: skip


def test_a_last_step_that_is_too_long_itself_is_summed_up_as_well() -> None:
    turn = managed(LOOP[:4])
    assert [role for role, _ in asked(turn)] == ["user", "assistant", "tool", "user"]
    events = heard(turn, [says("Notes."), stops()], [says("Thanks."), stops()])
    assert outcome(events)[1] == ["compaction", "message"]


@pytest.mark.parametrize(("count", "kept"), [(3, 6), (LETTER // 4 + 1, 0)])
def test_a_last_step_of_too_many_calls_is_summed_up_as_well(count: int, kept: int) -> None:
    calls = [call(f"c{n}") for n in range(count)]
    before = [user(LONG * 70), call("before"), output("before")]
    turn = managed([*before, *calls, *[output(f"c{n}") for n in range(count)]], threshold=150_000)
    item, _ = heard(turn, [says("So."), stops()], [says("Yes."), stops()])[-1]["response"]["output"]
    window = opened_window(item["encrypted_content"], OpenBook(), "input[0]")
    assert window is not None
    assert (window.summary, len(window.after)) == ("So.", kept)


@pytest.mark.parametrize(
    ("items", "options"),
    [
        ([user(LONG)], OPEN),
        ([user(LONG), user("More.")], OPEN),
        ([assistant(LONG), user("Hi")], ChatOptions()),
        ([assistant(LONG), *[user("Hi")] * (LETTER + 1)], OPEN),
    ],
    ids=["one message", "only the user spoke", "nothing may be sealed", "too much to be kept"],
)
def test_what_cannot_be_summed_up_is_said(items: list[Json], options: ChatOptions) -> None:
    threshold = [{"type": "compaction", "compact_threshold": 1_000}]
    turn = new_turn(items, options, context_management=threshold)
    [warning] = sentences(turn.warnings)
    assert warning.startswith("'context_management' has no effect on this conversation. ")
    assert turn.go_on() is None


@pytest.mark.parametrize(
    "entry", [{"type": "truncation"}, {"type": "compaction"}, {"type": "x", "compact_threshold": 9}]
)
def test_other_ways_to_manage_a_context_are_warned_of(entry: Json) -> None:
    turn = new_turn([assistant(LONG), user("Hi")], context_management=[entry])
    assert sentences(turn.warnings) == ["'context_management[0]' has no effect: it is no compaction with a threshold."]


@pytest.mark.parametrize("answer", [[stops()], [says("Half")], [{"error": {"message": "x", "code": "y"}}]])
def test_a_turn_whose_conversation_could_not_be_summed_up_fails(answer: list[Json]) -> None:
    turn = managed([user("Do it."), assistant(LONG), user("Well done.")])
    turn.begin()
    events = [event for chunk in answer for event in turn.receive(chunk)]
    if not turn.over:
        more = turn.go_on()
        assert more is not None
        events += more[0]
    assert turn.over
    assert plain(events)[-1]["response"]["status"] == "failed"


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
    events = heard(
        new_turn(items, options, context_management=wanted), [says(summary), stops()], [says("Yes."), stops()]
    )
    item, answer = events[-1]["response"]["output"]
    alone, behind = (new_turn([*before, item, answer, user("More.")], options) for before in ([], items))
    assert asked(alone) == asked(behind)
    assert told(summary.strip()) in asked(alone)
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
