"""Which items of an answer wait for the client: a turn that continues it must bring their results."""

from typing import Any, Final

from .registry import BRIDGES, wire_type

Json = dict[str, Any]

_UNBRIDGED: Final = {"computer_call": "computer_call_output"}
"""Calls that no function carries, but the client answers."""


def required_input(item: Any) -> Json | None:
    """The beginning of the input item that this output item waits for; None if it waits for none."""
    if not isinstance(item, dict):
        return None
    kind = str(item.get("type"))
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": item.get("id")}
    bridge = BRIDGES.by_call.get(kind)
    output = wire_type(bridge.output) if bridge is not None else _UNBRIDGED.get(kind)
    execution = item.get("execution")
    if output is None or execution == "server":
        return None
    call_id = item.get("id") if item.get("call_id") is None else item.get("call_id")
    name = {"name": item.get("name")} if kind == "function_call" else {}
    return {"type": output, "call_id": call_id, **name} | ({"execution": execution} if execution else {})
