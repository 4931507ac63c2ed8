"""The workloads."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Request(NamedTuple):
    """The same conversation in both dialects."""

    items: Any
    messages: Any
    more: Mapping[str, Any] = MappingProxyType({})


class Workload(NamedTuple):
    """A number of requests of one kind, some of them in parallel."""

    name: str
    about: str
    chunks: int
    pace_ms: int
    requests: int
    concurrency: int
    stream: bool = True
    request: Request = Request("Hello", [{"role": "user", "content": "Hello"}])
    fewer: int = 0
    """Requests to programs that are asked less."""

    @property
    def model(self) -> str:
        """The model's name, which tells the upstream how to answer."""
        return f"b-{self.chunks}-{self.pace_ms}"

    @property
    def unpaced(self) -> str:
        """The same without pauses."""
        return f"b-{self.chunks}-0"


def codex_like() -> Request:
    """About 60 kB: 40 items, 20 tools."""
    schema = {
        "type": "object",
        "properties": {f"field_{n}": {"type": "string", "description": "What it is for. " * 6} for n in range(8)},
        "required": ["field_0"],
        "additionalProperties": False,
    }
    functions = [
        {"name": f"tool_{n}", "description": "What the tool does, at some length. " * 10, "parameters": schema}
        for n in range(20)
    ]
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Please look. " * 60}]}
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please look. " * 60}]
    for n in range(13):
        arguments = json.dumps({"field_0": "value " * 20})
        items += [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "I will look. " * 20}],
            },
            {"type": "function_call", "call_id": f"call_{n}", "name": "tool_1", "arguments": arguments},
            {"type": "function_call_output", "call_id": f"call_{n}", "output": "a line of output\n" * 40},
        ]
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "tool_1", "arguments": arguments}}
        messages += [
            {"role": "assistant", "content": "I will look. " * 20, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{n}", "content": "a line of output\n" * 40},
        ]
    return Request(items, messages, {"tools": [{"type": "function", **each} for each in functions], "store": False})


WORKLOADS = [
    Workload("small", "one short answer, not streamed, 32 at a time", 1, 0, 600, 32, stream=False, fewer=100),
    Workload("short", "20 chunks, streamed, 16 at a time", 20, 0, 300, 16, fewer=50),
    Workload("long, fast", "one stream of 2,000 chunks as fast as it goes", 2000, 0, 5, 1),
    Workload("long, paced", "one stream of 2,000 chunks, one each millisecond", 2000, 1, 1, 1),
    Workload("many, paced", "100 streams of 200 chunks, 20 ms apart", 200, 20, 100, 100),
    Workload("codex", "60 kB, 40 items, 20 tools, a short answer, one at a time", 5, 0, 100, 1, request=codex_like()),
]

MILLION = Workload("million", "500 streams of 2,000 chunks, 4 at a time", 2000, 0, 500, 4)
"""Memory must not grow during it. Only our own lanes are measured."""
WAITING = Workload("waiting", "500 streams of 8 chunks, half a second apart", 8, 500, 500, 500, fewer=100)
"""Measures the cost of a waiting stream, with a freshly started program."""
