"""A Model Context Protocol server with one tool, over standard input and output: what an agent's user would plug in.

Nothing but the standard library, because Codex waits for it at every start.
"""

import json
import sys
from typing import Any

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "look_up", "description": "The weather of a city.", "inputSchema": CITY}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or the error where there is no such method."""
    match method:
        case "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "weather", "version": "1"}}
            return {"result": {"protocolVersion": params["protocolVersion"], **about}}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "tools/call":
            text = f"21 degrees in {params['arguments']['city']}"
            return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "there is no such method"}}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answered = answer(asked["method"], asked.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answered}), flush=True)
