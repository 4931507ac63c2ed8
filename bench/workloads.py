"""The workloads: what is asked, how often, and how many at a time."""

import json
from typing import Any, NamedTuple


class Workload(NamedTuple):
    """A number of requests of one kind. The model's name tells the upstream how to answer."""

    name: str
    about: str
    chunks: int
    pace_ms: int
    requests: int
    concurrency: int
    asked: dict[str, Any]
    stream: bool = True
    unit: str = "µs a request"
    aim: float = 0.45
    """AM Proxy as it starts, divided by the best other bridge."""

    @property
    def model(self) -> str:
        """So many chunks, so many milliseconds apart."""
        return f"b-{self.chunks}-{self.pace_ms}"


def codex_like() -> dict[str, Any]:
    """About 60 kB: 40 items, 20 tools."""
    field = {"type": "string", "description": "What it is for. " * 6}
    schema = {"type": "object", "properties": {f"field_{n}": field for n in range(8)}, "required": ["field_0"]}
    tool = {"type": "function", "description": "What the tool does, at some length. " * 10, "parameters": schema}
    thought = {"type": "output_text", "text": "I will look. " * 20}
    arguments = json.dumps({"field_0": "value " * 20})
    items: list[dict[str, Any]] = [{"role": "user", "content": "Please look. " * 60}]
    for n in range(13):
        call = {"call_id": f"call_{n}"}
        items += [
            {"type": "message", "role": "assistant", "content": [thought]},
            {"type": "function_call", **call, "name": "tool_1", "arguments": arguments},
            {"type": "function_call_output", **call, "output": "a line of output\n" * 40},
        ]
    return {"input": items, "tools": [{**tool, "name": f"tool_{n}"} for n in range(20)]}


HELLO = {"input": "Hello"}
SMALL = Workload("small", "one short answer, not streamed, 32 at a time", 1, 0, 600, 32, HELLO, stream=False, aim=0.50)
CODEX = Workload("codex", "60 kB, 40 items, 20 tools, one at a time", 5, 0, 100, 1, codex_like())
PACED = Workload("paced", "100 streams of 200 chunks, 20 ms apart", 200, 20, 100, 100, HELLO, unit="µs a chunk")
WAITING = Workload("waiting", "500 streams of 8 chunks, half a second apart", 8, 500, 500, 500, HELLO)
"""Memory of a waiting stream, with a freshly started program."""
WORKLOADS = (SMALL, CODEX, PACED)
MODELS = sorted({f"b-{work.chunks}-{pace}" for work in (*WORKLOADS, WAITING) for pace in (0, work.pace_ms)})
"""Some bridges need the name of every model in their configuration."""
