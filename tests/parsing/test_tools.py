"""Tools and items about tools: what a client may post of them, and how a fault is named."""

from typing import Any

import msgspec
import pytest

from app.bridges.tool_types.custom import CustomTool, GrammarInput
from app.bridges.tool_types.tool_search import ToolSearchOutputItem
from app.parsing.request_body import parse_request
from app.protocol.problems import Problem, ProblemError
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import AgentMessageItem
from app.protocol.request.input_parts import EncryptedPart
from app.protocol.request.tools import NamespaceTool

FUNCTION = {"type": "function", "name": "f"}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
BODY = {"model": "m", "input": "Hi"}


def parse(**fields: object) -> CreateResponse:
    """A request with these fields."""
    return parse_request(msgspec.json.encode({**BODY, **fields}))


def fault(**fields: object) -> tuple[str, str]:
    """Code and path of the problem with these fields."""
    with pytest.raises(ProblemError) as raised:
        parse(**fields)
    return raised.value.problem.code, raised.value.problem.param


MISSING, TYPE, INVALID = "missing_required_parameter", "invalid_type", "invalid_value"


@pytest.mark.parametrize(
    ("tool", "code", "path"),
    [
        ({"type": "custom"}, MISSING, ".name"),
        ({"type": "custom", "name": "two words"}, INVALID, ".name"),
        ({"type": "custom", "name": "c", "description": 5}, TYPE, ".description"),
        ({"type": "custom", "name": "c", "format": "text"}, TYPE, ".format"),
        ({"type": "custom", "name": "c", "format": {}}, MISSING, ".format.type"),
        ({"type": "custom", "name": "c", "format": {"type": "json"}}, INVALID, ".format.type"),
        ({"type": "custom", "name": "c", "format": {**GRAMMAR, "syntax": "ebnf"}}, INVALID, ".format.syntax"),
        ({"type": "custom", "name": "c", "format": {**GRAMMAR, "definition": None}}, TYPE, ".format.definition"),
        ({"type": "namespace", "tools": []}, MISSING, ".name"),
        ({"type": "namespace", "name": "X"}, MISSING, ".tools"),
        ({"type": "namespace", "name": "X", "tools": {}}, TYPE, ".tools"),
        ({"type": "namespace", "name": "X", "tools": [FUNCTION, {"type": "function"}]}, MISSING, ".tools[1].name"),
        ({"type": "tool_search", "execution": "nowhere"}, INVALID, ".execution"),
        ({"type": "tool_search", "parameters": []}, TYPE, ".parameters"),
        ({"type": "shell", "environment": "local"}, TYPE, ".environment"),
        ({"type": "shell", "environment": {}}, MISSING, ".environment.type"),
        ({**FUNCTION, "defer_loading": "yes"}, TYPE, ".defer_loading"),
    ],
)
def test_a_malformed_tool_is_named_by_its_path_wherever_it_stands(tool: Any, code: str, path: str) -> None:
    """Among the tools, and among those that are added or found in the input."""
    assert fault(tools=[FUNCTION, tool]) == (code, f"tools[1]{path}")
    for kind in ("additional_tools", "tool_search_output"):
        assert fault(input=[{"type": kind, "tools": [tool]}]) == (code, f"input[0].tools[0]{path}")


@pytest.mark.parametrize(
    ("item", "code", "path"),
    [
        ({"type": "custom_tool_call", "call_id": "c", "name": "x"}, MISSING, ".input"),
        ({"type": "custom_tool_call", "name": "x", "input": ""}, MISSING, ".call_id"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "x", "input": {}}, TYPE, ".input"),
        ({"type": "custom_tool_call_output", "call_id": "c"}, MISSING, ".output"),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": [{}]}, MISSING, ".output[0].type"),
        ({"type": "tool_search_output", "call_id": "c"}, MISSING, ".tools"),
        ({"type": "additional_tools", "tools": "all"}, TYPE, ".tools"),
        ({"type": "local_shell_call", "call_id": "c"}, MISSING, ".action"),
        ({"type": "local_shell_call", "action": {"command": "ls"}}, TYPE, ".action.command"),
        ({"type": "local_shell_call_output", "call_id": "c", "output": {}}, TYPE, ".output"),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": [5]}}, TYPE, ".action.commands[0]"),
        ({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": 5}]}, TYPE, None),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "x"}}, MISSING, ".operation.path"),
        ({"type": "apply_patch_call_output", "status": "completed"}, MISSING, ".call_id"),
        ({"type": "agent_message"}, MISSING, ".content"),
        (
            {"type": "agent_message", "content": [{"type": "encrypted_content"}]},
            MISSING,
            ".content[0].encrypted_content",
        ),
        ({"type": "configuration_update", "reasoning": {"effort": 5}}, "invalid_value", ".reasoning.effort"),
    ],
)
def test_a_malformed_item_is_named_by_its_path(item: Any, code: str, path: str | None) -> None:
    """Nothing is guessed."""
    code_told, path_told = fault(input=[item])
    assert code_told == code
    assert path is None or path_told == f"input[0]{path}"


def test_more_tools_than_allowed_are_refused_wherever_they_stand() -> None:
    """By the list that holds them."""
    for kind in ("additional_tools", "tool_search_output"):
        body = msgspec.json.encode({**BODY, "input": [{"type": kind, "tools": [FUNCTION, FUNCTION]}]})
        with pytest.raises(ProblemError) as raised:
            parse_request(body, max_tools=1)
        assert raised.value.problem.param == "input[0].tools"


def test_tools_and_items_are_read_by_their_type() -> None:
    """Those in a namespace, too; what a newer client adds is kept."""
    custom = {"type": "custom", "name": "c", "format": GRAMMAR, "async": True}
    request = parse(
        tools=[{"type": "namespace", "name": "X", "tools": [custom]}],
        input=[
            {"type": "tool_search_output", "tools": [FUNCTION]},
            {
                "type": "agent_message",
                "author": "/root",
                "content": [{"type": "encrypted_content", "encrypted_content": "Go."}],
            },
        ],
    )
    (space,) = request.tools
    assert isinstance(space, NamespaceTool)
    (tool,) = space.tools
    assert isinstance(tool, CustomTool)
    assert tool.model_extra == {"async": True}
    assert tool.format == GrammarInput(type="grammar", syntax="lark", definition="start: /x/")
    found, message = request.items
    assert isinstance(found, ToolSearchOutputItem)
    assert [each.type for each in found.tools] == ["function"]
    assert isinstance(message, AgentMessageItem)
    assert message.content == [EncryptedPart(type="encrypted_content", encrypted_content="Go.")]


def test_all_tools_of_a_turn_count_together_and_one_that_is_found_twice_is_one() -> None:
    def space(count: int) -> dict[str, Any]:
        return {"type": "namespace", "name": "X", "tools": [{**FUNCTION, "name": f"f{n}"} for n in range(count)]}

    found = {"type": "tool_search_output", "tools": [space(2)]}
    parse_request(msgspec.json.encode({**BODY, "tools": [space(2)], "input": [found, found]}), max_tools=2)
    with pytest.raises(ProblemError) as raised:
        parse_request(msgspec.json.encode({**BODY, "tools": [space(3)], "input": [found]}), max_tools=2)
    assert raised.value.problem == Problem(
        code="invalid_value",
        message="Invalid value for 'tools': there are 3 in all, and at most 2 are allowed "
        "(the server's setting 'max_tools').",
        param="tools",
    )


def test_a_name_that_a_tool_does_not_know_may_be_anything() -> None:
    request = parse_request(msgspec.json.encode({**BODY, "tools": [{"type": "shell", "name": []}]}))
    assert request.raw_tools == [{"type": "shell", "name": []}]
