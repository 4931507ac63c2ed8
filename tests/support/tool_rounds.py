"""Conversations that are long because of their tool calls."""

import json
from typing import Any, Final

Json = dict[str, Any]

TASK: Final[Json] = {"role": "user", "content": "Read every file, and tell me the code words."}
THRESHOLD: Final[Json] = {"type": "compaction", "compact_threshold": 10_000}
TOOLS: Final[list[Json]] = [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}]


def rounds(count: int, output: str = "line of the file\n" * 400, arguments: str = "") -> list[Json]:
    """So many calls with their outputs, two at a time, and words between them."""
    items: list[Json] = []
    for number in range(0, count, 2):
        pair = (number, number + 1)
        words = json.dumps({"path": f"word-{number}", "why": arguments})
        items.append({"role": "assistant", "content": f"I read the next files, from {number} on."})
        items += [{"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": words} for n in pair]
        items += [{"type": "function_call_output", "call_id": f"c{n}", "output": f"begin-{n} {output}"} for n in pair]
    return items
