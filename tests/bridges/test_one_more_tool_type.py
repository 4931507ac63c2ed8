"""Adding a tool type is one file and one registration: parsing, asks, events and history need no word of it."""

from itertools import count
from typing import Any

import msgspec
import pytest

from app.bridges.registry import BRIDGES
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.items import item_shapes
from app.parsing.request_body import parse_request
from app.parsing.shaped import tool_shapes
from app.protocol.problems import ProblemError
from app.protocol.response import Identity
from tests.bridges.timer import PARAMETERS, TimerBridge, TimerCallItem, TimerTool
from tests.support.running import ROOT

TIMER = {"type": "timer", "most_seconds": 5}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("by_tool", "by_call", "by_output", "item_shapes"):
        monkeypatch.setattr(BRIDGES, name, dict(getattr(BRIDGES, name)))
    BRIDGES.register(TimerBridge())


def turn(*items: dict[str, Any], **fields: Any) -> ChatTurn:
    """The turn of a request that offers the tool."""
    numbers = count(2)
    body = {"model": "m", "input": [{"role": "user", "content": "Wait."}, *items], "tools": [TIMER], **fields}
    return ChatTurn(
        parse_request(msgspec.json.encode(body)),
        model="m",
        options=ChatOptions(),
        identity=Identity("resp_AM-1", 1_700_000_000),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def chunk(finish: str | None = None, **function: str) -> dict[str, Any]:
    """One chunk of a call by a chat server."""
    delta = {"tool_calls": [{"index": 0, "id": "call_1", "function": function}]} if function else {}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def answered(asked: ChatTurn) -> list[dict[str, Any]]:
    """The events of an answer that calls the tool."""
    events = asked.begin()
    for each in (chunk(name="timer", arguments=""), chunk(arguments='{"seconds":'), chunk(arguments="3}")):
        events += asked.receive(each)
    events += [*asked.receive(chunk("tool_calls")), *asked.end()]
    plain: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(events))
    return plain


def test_it_is_offered_as_a_function() -> None:
    asked = turn(tool_choice={"type": "timer"})
    assert list(asked.warnings) == []
    function = {"name": "timer", "description": "Waits up to 5 s.", "parameters": PARAMETERS}
    assert asked.ask["tools"] == [{"type": "function", "function": function}]
    assert asked.ask["tool_choice"] == {"type": "function", "function": {"name": "timer"}}


def test_a_call_becomes_its_item_and_can_be_sent_back() -> None:
    events = answered(turn())
    action = {"seconds": 3}
    item = {"type": "timer_call", "id": "tmr_AM-2", "status": "completed", "call_id": "call_1", "action": action}
    assert [event["item"] for event in events if event["type"] == "response.output_item.done"] == [item]
    assert events[-1]["response"]["output"] == [item]
    output = {
        "type": "timer_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "3 s are over."}],
    }
    again = turn(item, output)
    assert list(again.warnings) == []
    assert again.ask["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "timer", "arguments": '{"seconds":3}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "3 s are over."},
    ]


@pytest.mark.parametrize(
    ("items", "fields", "path"),
    [
        ([], {"tools": [{"type": "timer", "most_seconds": "x"}]}, "tools[0].most_seconds"),
        ([{"type": "timer_call", "call_id": "c", "action": {}}], {}, "input[1].action.seconds"),
        ([{"type": "timer_call_output", "call_id": "c", "output": [{"type": "text"}]}], {}, "input[1].output[0].text"),
    ],
)
def test_a_fault_in_it_is_refused_by_its_path(items: list[dict[str, Any]], fields: dict[str, Any], path: str) -> None:
    with pytest.raises(ProblemError) as raised:
        turn(*items, **fields)
    assert raised.value.problem.param == path


def test_it_is_part_of_what_the_server_says_of_itself() -> None:
    assert TimerTool in tool_shapes()
    assert TimerCallItem in item_shapes()


def test_two_bridges_of_one_type_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="There is a bridge for 'timer', 'timer_call' or 'timer_call_output' already"):
        BRIDGES.register(TimerBridge())


def test_the_real_ones_are_named_in_one_file_each() -> None:
    """But for functions and custom tools, which servers with the Responses API get as well."""
    files = {file: file.read_text(encoding="utf-8") for file in (ROOT / "app").rglob("*.py")}
    for kind in ("apply_patch", "local_shell", "shell", "tool_search"):
        words = [f'"{kind}_call"', f'"{kind}_call_output"', f'"{kind}_output"']
        found = [file.name for file, text in files.items() if any(word in text for word in words)]
        assert found == [f"{kind}.py"]
