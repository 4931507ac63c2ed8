"""The checkers on tools that are no functions: each rule about them refuses a stream, and so do judges and consumer."""

import copy
import json
from pathlib import Path

import pytest

from tests.wire.consumer import check_consumed, consume
from tests.wire.faults import Break, Stream, at, both, change, change_in, drop, in_output, move, renumber, repeat
from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check


def recorded(slug: str) -> Stream:
    """What a client is told in this transcript."""
    file = Path(__file__).parent / "wire" / "transcripts" / slug / "events.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


ALL = recorded("calls-of-every-kind-interleaved")
"""Seats: 0 message, 1 shell, 2 apply_patch, 3 local_shell, 4 tool_search, 5 custom, 6 function."""
SHELL = recorded("shell")
EXEC = {"type": "exec", "command": ["ls"], "env": {}}


def cut_action(stream: Stream) -> None:
    """Tell half an action as if it were an item that ends incomplete."""
    in_output(0, status="incomplete")(stream)
    stream[-1]["type"] = "response.incomplete"
    stream[-1]["response"].update(
        status="incomplete", completed_at=None, incomplete_details={"reason": "max_output_tokens"}
    )


BROKEN: list[tuple[str, Stream, Break]] = [
    ("an item carries a proper action", ALL, in_output(3, action={**EXEC, "timeout_ms": None})),
    ("an item carries a proper action", ALL, in_output(3, action={**EXEC, "command": "ls"})),
    ("an item carries a proper action", ALL, in_output(3, action={"type": "exec", "command": []})),
    ("an item carries a proper action", ALL, in_output(1, action={"commands": [1]})),
    (
        "an item carries a proper operation",
        ALL,
        in_output(2, operation={"type": "delete_file", "path": "", "diff": ""}),
    ),
    ("an item carries a proper operation", ALL, in_output(2, operation={"type": "update_file", "path": "a"})),
    ("an item carries a proper operation", ALL, in_output(2, operation={"type": "move_file", "path": "a", "diff": ""})),
    ("an item carries a proper operation", ALL, in_output(2, operation={"type": "delete_file"})),
    ("an item carries a proper arguments", ALL, in_output(4, arguments="{}")),
    ("an item carries a proper execution", ALL, in_output(4, execution="server")),
    ("an item carries a proper call_id", ALL, change_in("output_item.added", "item", 3, call_id="")),
    ("call_id of an item never changes", ALL, in_output(3, call_id="other")),
    ("no two calls share a call id", ALL, change_in("output_item.added", "item", 3, call_id="c0")),
    ("an added item carries empty values", ALL, change_in("output_item.added", "item", 3, action=EXEC)),
    ("a new item takes the next seat", ALL, move("output_item.added", 2, "output_item.added", 1)),
    ("input of a done call equal the joined deltas", ALL, in_output(5, input="other")),
    ("custom_tool_call_input.done equals the joined", ALL, change("custom_tool_call_input.done", input="other")),
    ("custom_tool_call_input.done comes before", ALL, drop("custom_tool_call_input.done")),
    ("an event fits the type of its item", ALL, change("custom_tool_call_input.delta", output_index=4)),
    ("an event fits the type of its item", ALL, change("shell_call_command.delta", output_index=3)),
    ("item_id and output_index name the same item", ALL, change("custom_tool_call_input.delta", item_id="ctc_AM-0")),
    ("carries a proper command_index", SHELL, drop("shell_call_command.added", key="command_index")),
    ("carries a proper command", SHELL, change("shell_call_command.done", command=None)),
    ("commands are numbered in order", SHELL, change("shell_call_command.added", 1, command_index=0)),
    ("an added command is empty", SHELL, change("shell_call_command.added", command="ls")),
    ("one command is done before the next is added", SHELL, repeat("shell_call_command.added")),
    ("is about a command that is open", SHELL, drop("shell_call_command.added")),
    ("a done command equals its joined deltas", SHELL, change("shell_call_command.delta", delta="l")),
    ("an item is done only when its commands are", SHELL, drop("shell_call_command.done", 1)),
    ("a done action holds the commands that were told", SHELL, in_output(0, action={"commands": ["ls"]})),
    ("nobody can run half an action", SHELL, cut_action),
]


@pytest.mark.parametrize(("rule", "sound", "fault"), BROKEN, ids=[f"{n} {case[0]}" for n, case in enumerate(BROKEN)])
def test_a_stream_with_one_fault_is_refused_for_it(rule: str, sound: Stream, fault: Break) -> None:
    """And without it, it is not."""
    stream = copy.deepcopy(sound)
    check(stream)
    fault(stream)
    with pytest.raises(AssertionError) as refused:
        check(stream)
    assert rule in str(refused.value)


@pytest.mark.parametrize(
    ("index", "fields"),
    [
        (1, {"action": {"commands": "ls"}}),
        (2, {"operation": {"type": "update_file", "path": "a"}}),
        (3, {"action": {**EXEC, "type": "run"}}),
        (4, {"execution": "nowhere"}),
        (5, {"input": None}),
    ],
)
def test_the_types_of_openai_judge_what_the_schema_does_not_know(index: int, fields: dict[str, object]) -> None:
    """In the events and in the response."""
    stream = copy.deepcopy(ALL)
    judge(stream)
    judge_response(stream[-1]["response"])
    in_output(index, **fields)(stream)
    with pytest.raises(AssertionError, match="openai: "):
        judge(stream)
    with pytest.raises(AssertionError, match="openai: "):
        judge_response(stream[-1]["response"])


def test_a_choice_of_another_tool_is_judged_by_the_types_of_openai_alone() -> None:
    """One that lacks its name is a fault."""
    response = ALL[-1]["response"]
    judge_response(response | {"tool_choice": {"type": "custom", "name": "patch"}})
    with pytest.raises(AssertionError, match="openai: tool_choice"):
        judge_response(response | {"tool_choice": {"type": "custom"}})


def test_the_consumer_runs_every_kind_of_call_once() -> None:
    """In the order in which they were done; actions are told by their done item alone."""
    consumed = check_consumed(ALL)
    assert [(call_id, name) for call_id, name, _ in consumed.calls] == [
        ("c0", "shell_call"),
        ("c1", "apply_patch_call"),
        ("c2", "local_shell_call"),
        ("c3", "tool_search_call"),
        ("c4", "patch"),
        ("c5", "look_up"),
    ]
    assert [piece[1] for piece in consumed.pieces] == ["All at once.", "c0", "c1", "c2", "c3", "c4", "c5"]


def test_the_consumer_notices_a_call_that_is_told_late() -> None:
    """A custom call without its `input.done`, an action that only the final output holds."""
    late = copy.deepcopy(ALL)
    both(drop("custom_tool_call_input.done"), drop("output_item.done", 2))(late)
    assert consume(late).fallbacks == 2
    twice = copy.deepcopy(ALL)
    renumber(twice, lambda: twice.insert(-1, copy.deepcopy(twice[at(twice, "output_item.done", 3)])))
    with pytest.raises(AssertionError, match="c2 was told twice"):
        consume(twice)
