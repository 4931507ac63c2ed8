"""Which items of an answer wait for the client: a turn that continues it must bring their results."""

from typing import Any, Final

Json = dict[str, Any]

_OUTPUTS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}


def required_input(item: Any) -> Json | None:
    """The beginning of the input item that this output item waits for; None if it waits for none."""
    if not isinstance(item, dict):
        return None
    kind = str(item.get("type"))
    if kind == "tool_search_call":
        waits = item.get("execution") != "server"
        return {"type": "tool_search_output", "call_id": item.get("call_id"), "execution": "client"} if waits else None
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": item.get("id")}
    if kind not in _OUTPUTS:
        return None
    name = {"name": item.get("name")} if kind == "function_call" else {}
    call_id = item.get("id") if kind == "local_shell_call" and item.get("call_id") is None else item.get("call_id")
    return {"type": _OUTPUTS[kind], "call_id": call_id, **name}
