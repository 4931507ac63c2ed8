"""A response to a scripted answer of a provider, and what it says."""

from typing import Any, Final

import pytest

from tests.http.wires.lanes import Wired
from tests.support.failed_answers import ended
from tests.wire.script import chunk
from tests.wire.servers import Step

Json = dict[str, Any]


def answered(everything: Wired, lane: str, steps: list[Step], **fields: Any) -> Json:
    """The whole response to an upstream's answer of these steps."""
    wire = everything.wires[lane]
    wire.scripts = (steps,)
    return ended(everything.url, {"model": lane, "input": "Hi", **fields})


def essentials(response: Json) -> Json:
    """What it says, without what is the same in every response."""
    output: list[Json] = []
    for item in response.get("output", []):
        match item["type"]:
            case "message":
                output.append({"text": "".join(part["text"] for part in item["content"])})
            case "reasoning":
                output.append({"thought": "".join(part["text"] for part in item["summary"])})
            case _:
                output.append({"call": item["name"], "arguments": item["arguments"]})
    error = response.get("error") or {}
    return {"status": response.get("status"), "output": output} | ({"error": error.get("code")} if error else {})


def counted(response: Json) -> tuple[int, int, int, int, bool]:
    """Read, of that cached, written, of that thoughts, and whether it is an estimate."""
    usage = response["usage"]
    return (
        usage["input_tokens"],
        usage["input_tokens_details"]["cached_tokens"],
        usage["output_tokens"],
        usage["output_tokens_details"]["reasoning_tokens"],
        usage.get("estimated", False),
    )


def usage_of(prompt: int, completion: int) -> Json:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


CHATS: Final = pytest.mark.parametrize(
    "lane", ["openrouter", "openrouter, directly", "mistral", "vllm", "vllm, directly"]
)


COUNTED: Final = chunk(usage=usage_of(43, 10))
