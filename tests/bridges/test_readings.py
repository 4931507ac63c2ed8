"""Arguments of models, read leniently; descriptions and outputs of clients, as models get them."""

from typing import Any

import pytest

from app.bridges.base import PastOutput
from app.emitter.deltas import Stopped
from tests.support.tool_tables import called, offered, parsed

SHELL = {"type": "shell"}
LOCAL = {"type": "local_shell"}
PATCH = {"type": "apply_patch"}
SEARCH = {"type": "tool_search", "execution": "client"}
NO_LIMITS = {"timeout_ms": None, "max_output_length": None}


def unreadable(text: str) -> dict[str, Any]:
    """The operation that says so: clients refuse it, and the model reads why."""
    return {"type": "update_file", "path": "", "diff": text}


@pytest.mark.parametrize(
    ("tool", "written", "field", "read"),
    [
        (LOCAL, '{"command":"ls | wc"}', "action", {"type": "exec", "command": ["bash", "-lc", "ls | wc"], "env": {}}),
        (LOCAL, "ls -l", "action", {"type": "exec", "command": ["ls -l"], "env": {}}),
        (LOCAL, '{"command":[1]}', "action", {"type": "exec", "command": ['{"command":[1]}'], "env": {}}),
        (LOCAL, "", "action", {"type": "exec", "command": [], "env": {}}),
        (
            LOCAL,
            '{"command":["a"],"timeout_ms":-1,"workdir":""}',
            "action",
            {"type": "exec", "command": ["a"], "env": {}},
        ),
        (
            LOCAL,
            '{"command":["a"],"timeout_ms":true,"workdir":5}',
            "action",
            {"type": "exec", "command": ["a"], "env": {}},
        ),
        (
            LOCAL,
            '{"command":["a"],"timeout_ms":1e3,"workdir":"b"}',
            "action",
            {"type": "exec", "command": ["a"], "env": {}, "timeout_ms": 1000, "working_directory": "b"},
        ),
        (SHELL, '{"commands":"ls"}', "action", {"commands": ["ls"], **NO_LIMITS}),
        (SHELL, '{"command":["ls"]}', "action", {"commands": ["ls"], **NO_LIMITS}),
        (SHELL, "ls -l", "action", {"commands": ["ls -l"], **NO_LIMITS}),
        (SHELL, "{}", "action", {"commands": ["{}"], **NO_LIMITS}),
        (SHELL, " ", "action", {"commands": [], **NO_LIMITS}),
        (
            SHELL,
            '{"commands":[],"timeout_ms":0.5,"max_output_length":9}',
            "action",
            {"commands": [], "timeout_ms": None, "max_output_length": 9},
        ),
        (
            PATCH,
            '{"operation":{"type":"delete_file","path":"a","diff":"-"}}',
            "operation",
            {"type": "delete_file", "path": "a"},
        ),
        (
            PATCH,
            '{"type":"create_file","path":"a"}',
            "operation",
            {"type": "create_file", "path": "a", "diff": ""},
        ),
        (PATCH, '{"type":"move_file","path":"a"}', "operation", unreadable('{"type":"move_file","path":"a"}')),
        (PATCH, '{"type":"create_file"}', "operation", unreadable('{"type":"create_file"}')),
        (PATCH, "*** Begin Patch", "operation", unreadable("*** Begin Patch")),
        (SEARCH, "cats", "arguments", {"query": "cats"}),
        (SEARCH, "{}", "arguments", {}),
        (SEARCH, '["cats"]', "arguments", {"query": '["cats"]'}),
    ],
)
def test_what_a_model_writes_to_a_tool_is_read_kindly(
    tool: dict[str, Any], written: str, field: str, read: dict[str, Any]
) -> None:
    """Near misses are understood; anything else goes to the client as it is, whose answer tells the model so."""
    events = called(offered(tool), tool["type"], written, stopped=Stopped("end"))
    assert events[-1]["response"]["output"][0][field] == read


@pytest.mark.parametrize(
    ("description", "form", "text"),
    [
        (None, None, ""),
        ("Runs code.", {"type": "text"}, "Runs code.\n\n"),
        ("Edits files. This is a FREEFORM tool, so do not wrap the patch in JSON.", None, "Edits files.\n\n"),
        ("- Runs it.\n- Takes text, not JSON or fences.\n- Ends.", None, "- Runs it.\n\n- Ends.\n\n"),
        ("Never send JSON! Don't use JSON, please", None, ""),
        ("Returns JSON. It is not slow.", None, "Returns JSON. It is not slow.\n\n"),
    ],
)
def test_a_custom_tools_description_says_nothing_against_json(description: str | None, form: Any, text: str) -> None:
    """Its function takes JSON: a model that obeyed would break the call."""
    tool = {"type": "custom", "name": "c", "description": description, "format": form}
    content = offered(tool).specs[0].description
    assert content == text + "Pass the whole input, exactly as it is to be, as the string `input`."


@pytest.mark.parametrize(("syntax", "name"), [("lark", "Lark grammar"), ("regex", "regular expression")])
def test_a_grammar_is_told_in_the_description(syntax: str, name: str) -> None:
    """Chat servers cannot enforce it."""
    form = {"type": "grammar", "syntax": syntax, "definition": "x+\n"}
    content = offered({"type": "custom", "name": "c", "format": form}).specs[0].description
    assert content is not None
    assert content.endswith(f"\n\n`input` must match this {name}:\nx+")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "completed"}, "[completed]"),
        ({"type": "apply_patch_call_output", "call_id": "c", "output": "Done."}, "Done."),
        ({"type": "shell_call_output", "call_id": "c", "output": "all"}, "all"),
        ({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a\n"}, {"stdout": "b"}]}, "a\nb"),
        ({"type": "shell_call_output", "call_id": "c", "output": []}, ""),
        ({"type": "local_shell_call_output", "id": "c", "output": "a"}, "a"),
        ({"type": "tool_search_output", "call_id": "c", "tools": []}, "No tool was found."),
    ],
)
def test_outputs_are_told_as_text(item: dict[str, Any], text: str) -> None:
    """Whatever of them the client gives."""
    assert offered().read_output(parsed(item)) == PastOutput("c", text)


def test_the_description_of_a_search_is_the_clients_where_it_gives_one() -> None:
    """Otherwise it has one of ours, and parameters too."""
    own = {**SEARCH, "description": "Finds.", "parameters": {"type": "object", "properties": {"q": {}}}}
    assert offered(own).specs[0].description == "Finds."
    assert offered(own).specs[0].parameters == own["parameters"]
    spec = offered(SEARCH).specs[0]
    assert spec.description
    assert spec.parameters is not None
    assert list(spec.parameters["properties"]) == ["query", "limit"]
