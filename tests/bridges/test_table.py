"""One turn's tools: what is offered, what may be called, what a call becomes."""

from typing import Any

import msgspec
import pytest

from app.bridges.base import FunctionSpec, PastCall, PastOutput
from app.bridges.choice import Choice
from app.bridges.table import BridgeTable
from app.emitter.open_items import ItemPosition, OpenFunctionCall
from app.parsing.request_body import parse_request
from app.protocol.problems import ProblemError
from tests.support.warning_sentences import sentences

F = {"type": "function", "name": "f"}
G = {"type": "function", "name": "g", "description": "G.", "parameters": {"type": "object"}, "strict": True}
SEARCH = {"type": "web_search"}
POSITION = ItemPosition("fc_1", 0, iter(range(9)).__next__)


def table(tools: list[Any], tool_choice: object = None) -> BridgeTable:
    """The table of a request with these tools."""
    body = {"model": "m", "input": "Hi", "tools": tools, "tool_choice": tool_choice}
    request = parse_request(msgspec.json.encode(body))
    return BridgeTable(request.tools, request.tool_choice)


def refusal(tools: list[Any], tool_choice: object = None) -> tuple[str, str]:
    """Code and path of the problem with these tools."""
    with pytest.raises(ProblemError) as raised:
        table(tools, tool_choice)
    return raised.value.problem.code, raised.value.problem.param


def test_functions_are_offered_in_the_clients_order() -> None:
    """Prompt caches depend on it."""
    offered = table([G, F])
    assert offered.specs == [
        FunctionSpec(name="g", description="G.", parameters={"type": "object"}, strict=True),
        FunctionSpec(name="f"),
    ]
    assert sentences(offered.warnings) == []


def test_a_tool_without_a_bridge_is_left_out_with_a_warning() -> None:
    """The caller learns which, and why."""
    offered = table([SEARCH, F])
    assert offered.specs == [FunctionSpec(name="f")]
    assert sentences(offered.warnings) == [
        "tools[0] was left out: its type 'web_search' cannot be offered to this model."
    ]


def test_two_tools_that_cannot_be_told_apart_are_refused() -> None:
    """Nobody could say which of them a call means."""
    assert refusal([F, G, F]) == ("invalid_value", "tools[2]")


@pytest.mark.parametrize(
    ("tools", "tool_choice", "choice", "may_call"),
    [
        ([F, G], None, Choice("auto"), {"f", "g", "unknown"}),
        ([F, G], "auto", Choice("auto"), {"f", "g", "unknown"}),
        ([F, G], "required", Choice("required"), {"f", "g", "unknown"}),
        ([F, G], "none", Choice("none"), set()),
        ([], "none", Choice("none"), set()),
        ([F, G], F, Choice("required", "f"), {"f"}),
        ([F, G], {"type": "allowed_tools", "tools": [G]}, Choice("auto"), {"g"}),
        ([F, G], {"type": "allowed_tools", "tools": []}, Choice("none"), set()),
        ([F, G], {"type": "allowed_tools", "mode": "required", "tools": [G]}, Choice("required", "g"), {"g"}),
        ([F, G], {"type": "allowed_tools", "mode": "required", "tools": [G, F]}, Choice("required"), {"f", "g"}),
    ],
)
def test_tool_choice_says_what_must_and_what_may_be_called(
    tools: list[Any], tool_choice: object, choice: Choice, may_call: set[str]
) -> None:
    """`none`, `allowed_tools` and a named tool are hard; otherwise the client judges even an unknown function."""
    offered = table(tools, tool_choice)
    assert offered.choice == choice
    assert {name for name in ("f", "g", "unknown") if offered.allows(name)} == may_call


@pytest.mark.parametrize(
    ("tools", "tool_choice", "path"),
    [
        ([F], G, "tool_choice"),
        ([F, SEARCH], SEARCH, "tool_choice"),
        ([F], {"type": "custom", "name": "f"}, "tool_choice"),
        ([], "required", "tool_choice"),
        ([SEARCH], "required", "tool_choice"),
        ([F, SEARCH], {"type": "allowed_tools", "tools": [F, SEARCH]}, "tool_choice.tools[1]"),
        ([F], {"type": "allowed_tools", "mode": "required", "tools": []}, "tool_choice.tools"),
    ],
)
def test_a_choice_that_cannot_be_honoured_is_refused(tools: list[Any], tool_choice: object, path: str) -> None:
    """A tool that is unknown or was left out cannot be called."""
    assert refusal(tools, tool_choice) == ("invalid_value", path)


@pytest.mark.parametrize("name", ["f", "unknown"])
def test_a_call_of_a_function_becomes_a_function_call(name: str) -> None:
    """Whether it was declared or not."""
    offered = table([F])
    opened = offered.open_call(name, "call_1", POSITION)
    assert isinstance(opened, OpenFunctionCall)
    assert offered.item_prefix(name) == "fc"


def test_past_calls_and_outputs_are_read_by_their_bridge() -> None:
    """Other items are nobody's."""
    items: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a" :1}'},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
        {"role": "user", "content": "Hi"},
    ]
    request = parse_request(msgspec.json.encode({"model": "m", "input": items}))
    offered = BridgeTable([])
    assert [offered.read_call(item) for item in request.items] == [PastCall("c", "f", '{"a" :1}'), None, None]
    assert [offered.read_output(item) for item in request.items] == [None, PastOutput("c", "4"), None]


@pytest.mark.parametrize(
    ("space", "tool", "description"),
    [
        ("Of the sky.", "Looks up.", "sky: Of the sky.\n\nLooks up."),
        ("Of the sky. \n", None, "sky: Of the sky."),
        (" ", "Looks up.", "Looks up."),
        (None, None, None),
    ],
)
def test_what_a_namespace_says_of_itself_is_told_with_its_first_tool(
    space: str | None, tool: str | None, description: str | None
) -> None:
    """Once, and without blanks around it."""
    tools = [{"type": "function", "name": "look_up", "description": tool}, F]
    offered = table([{"type": "namespace", "name": "sky", "description": space, "tools": tools}])
    assert [spec.description for spec in offered.specs] == [description, None]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "a"}, '{"query":"a"}'),
        ('{"query": "a"}', '{"query":"a"}'),
        ("a", '{"query":"a"}'),
        (["a"], '{"query":"[\\"a\\"]"}'),
        (None, "{}"),
    ],
)
def test_a_past_search_is_read_whatever_its_arguments_are(arguments: object, expected: str) -> None:
    """An object, one in a string, or something that is none."""
    item = {"type": "tool_search_call", "call_id": "c", "arguments": arguments}
    request = parse_request(msgspec.json.encode({"model": "m", "input": [item]}))
    assert BridgeTable([]).read_call(request.items[0]) == PastCall("c", "tool_search", expected)
