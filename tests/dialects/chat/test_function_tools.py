"""Functions and the client's choice, as chat servers know them."""

from typing import Any

import pytest

from app.bridges.base import FunctionSpec
from app.bridges.choice import Choice
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.function_tools import to_tools
from tests.support.chat_requests import ask, call, output

F = FunctionSpec(name="f")
SENT_F: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}


@pytest.mark.parametrize(
    ("spec", "function"),
    [
        (F, {"name": "f", "parameters": {"type": "object", "properties": {}}}),
        (
            FunctionSpec(name="f", description="", parameters={}),
            {"name": "f", "parameters": {"type": "object", "properties": {}}},
        ),
        (
            FunctionSpec(name="f", description="F.", parameters={"type": "object", "$defs": {}}, strict=False),
            {"name": "f", "description": "F.", "parameters": {"type": "object", "$defs": {}}, "strict": False},
        ),
    ],
)
def test_a_function_is_declared_with_what_is_known_of_it(spec: FunctionSpec, function: dict[str, Any]) -> None:
    """Parameters always: some servers refuse a function without."""
    assert to_tools([spec], Choice("auto")) == {"tools": [{"type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice("auto"), {}),
        (Choice("none"), {"tool_choice": "none"}),
        (Choice("required"), {"tool_choice": "required"}),
        (Choice("required", "f"), {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ],
)
def test_the_choice_is_told_beside_the_tools(choice: Choice, expected: dict[str, Any]) -> None:
    """All tools stay declared, whatever may be called: prompt caches depend on it."""
    assert to_tools([F], choice) == {"tools": [SENT_F], **expected}


def test_without_tools_nothing_is_told() -> None:
    """Neither an empty list nor a choice of nothing."""
    assert to_tools([], Choice("none")) == {}


def test_past_tools_are_each_declared_once() -> None:
    """In the order they were first called."""
    calls = [call("a", "g"), call("b", "f"), output("a"), output("b"), call("c", "g"), output("c")]
    tools = ask(ChatOptions(declare_past_tools=True), input=calls).body["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["g", "f"]
