"""The request in which each member is sent, and the same request without it."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

MEMBERS: Final = Path(__file__).with_name("members.jsonl")
"""Each member that the `openai` package knows, with a value."""
FILE: Final = "https://a.example/a.pdf"

TABLE: Final = MEMBERS.with_name("outcomes.txt")
"""What each lane does with each member: the table that a change of behaviour changes."""

F: Final = {"type": "function", "name": "f"}
TOOL: Final = {**F, "parameters": {"type": "object", "properties": {}}}
USER: Final = {"role": "user", "content": "Hi"}
THOUGHT: Final = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
ASSISTANT: Final = {"role": "assistant", "content": "Hello."}
PARAMETERS: Final[Json] = {"model": "m", "input": [USER, THOUGHT, ASSISTANT, USER], "tools": [TOOL]}
"""The request that each parameter is added to."""

CALLS: Final[Json] = {
    "function_call": {**F, "type": "function_call", "arguments": "{}"},
    "custom_tool_call": {"type": "custom_tool_call", "name": "f", "input": "x"},
    "shell_call": {"type": "shell_call", "action": {"commands": ["ls"]}},
    "local_shell_call": {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
    "apply_patch_call": {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
    "tool_search_call": {"type": "tool_search_call", "arguments": {}},
}
OUTPUTS: Final[Json] = {
    "function_call": {"type": "function_call_output", "output": "x"},
    "custom_tool_call": {"type": "custom_tool_call_output", "output": "x"},
    "shell_call": {"type": "shell_call_output", "output": "x"},
    "local_shell_call": {"type": "local_shell_call_output", "output": "x"},
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "completed"},
    "tool_search_call": {"type": "tool_search_output", "tools": []},
}
HOSTED: Final[Json] = {
    "code_interpreter_call": {"type": "code_interpreter", "container": "c"},
    "computer_call_output": {"type": "computer"},
    "file_search_call": {"type": "file_search", "vector_store_ids": ["v"]},
    "web_search_call": {"type": "web_search"},
}
"""The tool that a value of `include` is about."""
ELSEWHERE: Final[Json] = {
    "parameter:client_metadata": {"client_metadata": {"a": "b"}},
    "parameter:frequency_penalty": {"frequency_penalty": 0.5},
    "parameter:generate": {"generate": False},
    "parameter:presence_penalty": {"presence_penalty": 0.5},
    "item:configuration_update": {"type": "configuration_update", "reasoning": {"effort": "low"}},
    "item:compaction_summary": {"type": "compaction_summary", "encrypted_content": "gAAAAABpZm9yZWlnbnNlcnZlcg=="},
    "item:context_compaction": {"type": "context_compaction", "encrypted_content": "gAAAAABpZm9yZWlnbnNlcnZlcg=="},
    "item:ghost_snapshot": {"type": "ghost_snapshot", "ghost_commit": {"id": "a"}},
    "part:encrypted_content": {"type": "encrypted_content", "encrypted_content": "gAAAAABpZm9yZWlnbnNlcnZlcg=="},
    "part:input_video": {"type": "input_video", "video_url": "https://a.example/v.mp4"},
}
"""What other clients and specifications have: Codex, Open Responses, and this server."""


NEEDED: Final[Json] = {
    "part:input_image": {"image_url": "data:image/png;base64,iVBORw0KGgo="},
    "part:input_file": {"file_data": "data:application/pdf;base64,JVBERi0xLjcK"},
}
"""What a part needs beside most of its members: one of several ways to give its data."""
DATA: Final = frozenset({"file_data", "file_id", "file_url", "image_url"})


class Case(NamedTuple):
    """One member, and the two requests."""

    name: str
    held: Any
    """The value, or the object with the member."""
    body: Json
    without: Json
    frame: bool = False


def cases(file: str = FILE) -> list[Case]:
    """All of them, in the order of their names. `file` is the address of a file."""
    rows = map(json.loads, MEMBERS.read_text().replace(FILE, file).splitlines())
    found = {row["name"]: row["sample"] for row in rows} | ELSEWHERE
    return [case_of(name, found[name]) for name in sorted(found, key=_order)]


def _order(name: str) -> tuple[int, str]:
    return ("parameter", "item", "part", "tool", "tool_choice", "include", "frame").index(name.partition(":")[0]), name


def case_of(name: str, held: Any) -> Case:
    """The requests with and without this member."""
    what, _, path = name.partition(":")
    kind, *steps = path.split(".")
    if what == "frame":
        return Case(name, held, held, held, frame=True)
    if steps[:1] == [] or steps[0] not in DATA:
        held = {**NEEDED[f"{what}:{kind}"], **held} if f"{what}:{kind}" in NEEDED else held
    if what == "parameter":
        return Case(name, held, {**PARAMETERS, **held}, _less({**PARAMETERS, **held}, [kind, *steps]))
    if what == "include":
        return Case(name, held, _included(held, kind), _included(None, kind))
    put = PLACES[what]
    return Case(name, held, put(held, kind), put(_less(held, steps) if steps else None, kind))


def _less(body: Json, steps: list[str]) -> Json:
    """A copy without what is at this path."""
    copied = copy.deepcopy(body)
    held: Any = copied
    for step in steps[:-1]:
        held = held[step]
        held = held[0] if isinstance(held, list) else held
    held.pop(steps[-1], None)
    return copied


def _in_input(item: Json | None, kind: str) -> Json:
    return {"model": "m", "input": [USER, *_beside(item, kind)], "tools": [TOOL]}


def _beside(item: Json | None, kind: str) -> Iterator[Json]:
    """The item, with its call before or its output after it."""
    call_id = (item or {}).get("call_id") or ((item or {}).get("id") if kind.startswith("local_shell") else None)
    call_id = {"call_id": call_id or "call_1"} if call_id or not kind.startswith("tool_search") else {}
    call = next((name for name, output in OUTPUTS.items() if output["type"] == kind), None)
    if item is not None and call is not None:
        yield {**CALLS[call], **call_id}
    if item is not None:
        yield item
    if item is not None and kind in OUTPUTS:
        yield {**OUTPUTS[kind], **call_id}
    if kind != "compaction_trigger":
        yield ASSISTANT
        yield USER


def _in_message(part: Json | None, kind: str) -> Json:
    text = "output_text" if kind in {"output_text", "refusal"} else "input_text"
    role = "assistant" if text == "output_text" else "user"
    parts = [{"type": text, "text": "Hi"}, *([part] if part is not None else [])]
    return {"model": "m", "input": [USER, {"type": "message", "role": role, "content": parts}, USER]}


def _in_tools(tool: Json | None, _kind: str) -> Json:
    body: Json = {"model": "m", "input": "Hi", "tools": [*([tool] if tool is not None else [])]}
    if (tool or {}).get("defer_loading"):
        body["tools"].append({"type": "tool_search", "execution": "client"})
    return body


def _as_choice(choice: Json | None, kind: str) -> Json:
    other = [] if kind in {"allowed_tools", "custom", "function"} else [{"type": kind, "container": "c"}]
    tools = [TOOL, {**TOOL, "name": "g"}, {**F, "type": "custom"}, *other]
    return {"model": "m", "input": "Hi", "tools": tools, **({} if choice is None else {"tool_choice": choice})}


PLACES: Final[dict[str, Callable[[Json | None, str], Json]]] = {
    "item": _in_input,
    "part": _in_message,
    "tool": _in_tools,
    "tool_choice": _as_choice,
}


def _included(word: str | None, kind: str) -> Json:
    tool = HOSTED.get(kind)
    body: Json = {"model": "m", "input": "Hi", "tools": [TOOL, *([tool] if tool else [])]}
    return body if word is None else {**body, "include": [word]}
