"""vLLM's own Responses API: it knows function tools only, and refuses unknown items as the `openai` types do."""

import json
from typing import Final

from tests.wire.servers.responses import ResponsesUpstream
from tests.wire.servers.steps import Ask, Json, Status

_ITEMS: Final = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_TOOL_KEYS: Final = frozenset({"type", "name", "description", "parameters", "strict"})


class VllmResponses(ResponsesUpstream):
    """`POST /v1/responses` of vLLM, and nothing beside it."""

    def beside(self, ask: Ask) -> Status | None:
        """It has no other address."""
        return None if ask.path.endswith("/responses") else Status(404, self.error_body(404, "Not Found"))

    def faults(self, ask: Ask) -> list[str]:
        """Say what this server refuses."""
        body = ask.body
        items = body["input"] if isinstance(body.get("input"), list) else []
        choice = body.get("tool_choice", "auto")
        found = super().faults(ask)
        found += [f"tools[{at}]: {fault}" for at, tool in enumerate(body.get("tools") or []) for fault in _tool(tool)]
        found += [f"input[{at}]: {fault}" for at, item in enumerate(items) for fault in _item_faults(item)]
        named = isinstance(choice, dict) and set(choice) == {"type", "name"} and choice["type"] == "function"
        if not named and choice not in ("auto", "none", "required"):
            found.append(f"tool_choice: cannot be {choice}")
        if body.get("tool_choice") is not None and not body.get("tools"):
            found.append("a tool_choice without tools")
        outputs = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        return found + [f"the call {call_id} has no output" for call_id in calls if outputs.count(call_id) != 1]

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as vLLM does."""
        return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}


def _item_faults(item: Json) -> list[str]:
    kind = item.get("type", "message")
    if kind not in _ITEMS:
        return [f"unknown input item type: {kind}"]
    if kind == "message" and item.get("role") not in _ROLES:
        return [f"unknown role {item.get('role')}"]
    lists = [item[key] for key in ("content", "output") if isinstance(item.get(key), list) and kind != "reasoning"]
    parts = [part for held in lists for part in held if part["type"] not in _PARTS]
    found = [f"unknown content type {part.get('type')}" for part in parts]
    if kind == "function_call":
        found += [f"{key} is no key of a call" for key in item if key in {"namespace", "input", "action"}]
        found += [] if isinstance(item.get("arguments"), str) else ["arguments must be a string"]
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list):
        found.append("output must be a string or a list")
    return found


def _tool(tool: Json) -> list[str]:
    if tool.get("type") != "function":
        return [f"'type' of tool must be 'function', not {tool.get('type')}"]
    found = [f"unknown key {key}" for key in tool if key not in _TOOL_KEYS]
    if not isinstance(tool.get("parameters"), dict) or tool["parameters"].get("type") != "object":
        found.append("parameters must describe an object")
    return found + (["a key that is no JSON schema"] if '"encrypted": true' in json.dumps(tool) else [])
