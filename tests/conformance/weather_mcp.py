"""A Model Context Protocol server with one tool, over standard input and output: what an agent's user would plug in."""

import json
import sys
from typing import Any

TOOL = {
    "name": "look_up",
    "description": "The weather of a city.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None where there is no such method."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "weather", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"21 degrees in {params['arguments']['city']}"
            return {"content": [{"type": "text", "text": text}], "isError": False}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        received = json.loads(line)
        if "id" not in received:
            continue
        result = answer(received["method"], received.get("params") or {})
        missing = {"error": {"code": -32601, "message": "there is no such method"}}
        body = missing if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": received["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
