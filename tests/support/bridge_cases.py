"""One case for each type of tool: how it is offered, called, sent back and chosen."""

from typing import Any, NamedTuple

import msgspec


class Case(NamedTuple):
    """One tool, one call of it as the model writes it and as the client reads it, one output."""

    tool: dict[str, Any]
    function: str
    arguments: str
    item: dict[str, Any]
    """The finished call, without the keys that every item has."""
    output: dict[str, Any]
    output_text: str
    within: str = ""
    """The namespace the tool stands in."""
    output_failed: bool = False


PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


PATCH = '*** Begin Patch\n+"caf\u00e9" \U0001f600\\\n*** End Patch'


FUNCTION = {"type": "function", "name": "f", "parameters": PARAMETERS}


CUSTOM = {"type": "custom", "name": "patch", "format": {"type": "text"}}


FOUND = {"type": "function", "name": "found", "parameters": PARAMETERS}


CASES = {
    "function": Case(
        FUNCTION,
        "f",
        '{"a" : 1, "b":"\\u00e9"}',
        {"type": "function_call", "name": "f", "arguments": '{"a" : 1, "b":"\\u00e9"}'},
        {"type": "function_call_output", "output": "4"},
        "4",
    ),
    "function in a namespace": Case(
        FUNCTION,
        "X__f",
        '{"a":1}',
        {"type": "function_call", "name": "f", "namespace": "X", "arguments": '{"a":1}'},
        {"type": "function_call_output", "output": "4"},
        "4",
        within="X",
    ),
    "function of a list": Case(
        {"type": "function", "name": "f", "parameters": {"type": "array", "items": {}}},
        "f",
        '{"value":[1, {"value":"\\u00e9"}]}',
        {"type": "function_call", "name": "f", "arguments": '[1, {"value":"\\u00e9"}]'},
        {"type": "function_call_output", "output": "4"},
        "4",
    ),
    "custom": Case(
        CUSTOM,
        "patch",
        msgspec.json.encode({"input": PATCH}).decode(),
        {"type": "custom_tool_call", "name": "patch", "input": PATCH},
        {"type": "custom_tool_call_output", "output": "Done."},
        "Done.",
    ),
    "custom in a namespace": Case(
        CUSTOM,
        "X__patch",
        '{"input":"a"}',
        {"type": "custom_tool_call", "name": "patch", "namespace": "X", "input": "a"},
        {"type": "custom_tool_call_output", "output": "Done."},
        "Done.",
        within="X",
    ),
    "tool_search": Case(
        {"type": "tool_search", "execution": "client", "description": "Searches.", "parameters": PARAMETERS},
        "tool_search",
        '{"query":"cats","limit":3}',
        {"type": "tool_search_call", "execution": "client", "arguments": {"query": "cats", "limit": 3}},
        {
            "type": "tool_search_output",
            "execution": "client",
            "tools": [{"type": "namespace", "name": "X", "tools": [FOUND]}, FOUND],
        },
        "Found tools, which can be called now: X__found, found",
    ),
    "local_shell": Case(
        {"type": "local_shell"},
        "local_shell",
        '{"command":["ls","-l"],"workdir":"/tmp","timeout_ms":5}',
        {
            "type": "local_shell_call",
            "action": {
                "type": "exec",
                "command": ["ls", "-l"],
                "env": {},
                "timeout_ms": 5,
                "working_directory": "/tmp",  # noqa: S108 — a word, not a folder
            },
        },
        {"type": "local_shell_call_output", "output": "a.txt"},
        "a.txt",
    ),
    "shell": Case(
        {"type": "shell", "environment": {"type": "local"}},
        "shell",
        '{"commands":["ls","pwd"],"timeout_ms":5}',
        {"type": "shell_call", "action": {"commands": ["ls", "pwd"], "timeout_ms": 5, "max_output_length": None}},
        {
            "type": "shell_call_output",
            "output": [
                {"stdout": "a.txt\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "slow\n", "outcome": {"type": "timeout"}},
            ],
        },
        "a.txt\n[exit code 0]\n[stderr]\nslow\n[timeout]",
        output_failed=True,
    ),
    "apply_patch": Case(
        {"type": "apply_patch"},
        "apply_patch",
        '{"type":"update_file","path":"a.py","diff":"@@\\n-a\\n+b"}',
        {
            "type": "apply_patch_call",
            "operation": {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b"},
        },
        {"type": "apply_patch_call_output", "status": "failed", "output": "No such file."},
        "[failed]\nNo such file.",
        output_failed=True,
    ),
}


def tool_of(case: Case) -> dict[str, Any]:
    """The tool as the client offers it."""
    return {"type": "namespace", "name": case.within, "tools": [case.tool]} if case.within else case.tool
