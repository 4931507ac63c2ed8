"""Shapes of answers that real providers have sent, scripted, through every lane that meets them."""

from typing import Any, Final

import httpx
import pytest

from tests.script import Chunk, chunk, delta, says, stops
from tests.upstream import Step
from tests.wires.lanes import Wired

pytestmark = pytest.mark.xdist_group("litellm")

Json = dict[str, Any]

MISTRALS: Final = pytest.mark.parametrize("lane", ["mistral", "mistral, directly"])


def answered(everything: Wired, lane: str, steps: list[Step], **fields: Any) -> Json:
    """The whole response to an upstream's answer of these steps."""
    wire = everything.wires[lane]
    wire.scripts = (steps,)
    body = {"model": lane, "input": "Hi", **fields}
    response: Json = httpx.post(f"{everything.url}/v1/responses", json=body, timeout=20).json()
    return response


def told(response: Json) -> Json:
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


def stops_with(usage: Json) -> Chunk:
    """The last chunk of Mistral, which counts in it."""
    return chunk({"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}, usage=usage)


COUNTS: Final[dict[str, tuple[Json, tuple[int, int, int, int, bool]]]] = {
    "cached, under the older name": (
        {"prompt_tokens": 70, "completion_tokens": 4, "total_tokens": 74, "num_cached_tokens": 64},
        (70, 64, 4, 0, False),
    ),
    "sound of the prompt, in the total": (
        {
            "prompt_tokens": 11,
            "completion_tokens": 15,
            "total_tokens": 401,
            "prompt_audio_seconds": 30,
            "prompt_tokens_details": {"audio_tokens": 375},
        },
        (386, 0, 15, 0, False),
    ),
    "zeros": ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (9, 0, 1, 0, True)),
}


@MISTRALS
@pytest.mark.parametrize(("usage", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts_are_told_as_they_were_meant(
    everything: Wired, lane: str, usage: Json, expected: tuple[int, int, int, int, bool]
) -> None:
    assert counted(answered(everything, lane, [says("Hi"), stops_with(usage)])) == expected


DETAILS: Final[dict[str, list[Chunk]]] = {
    "OpenRouter's summary": [
        delta(content="", reasoning=None, reasoning_details=[{"type": "reasoning.summary", "summary": "15 * 27 "}]),
        delta(content="", reasoning=None, reasoning_details=[{"type": "reasoning.summary", "summary": "= 405"}]),
        delta(content="", reasoning_details=[{"type": "reasoning.encrypted", "data": "c2ln", "id": "rs_1"}]),
    ],
    "Snowflake's text": [delta(content="", reasoning_details=[{"type": "reasoning.text", "text": "15 * 27 = 405"}])],
}


@pytest.mark.parametrize("lane", ["openrouter", "openrouter, directly", "vllm, directly"])
@pytest.mark.parametrize("details", DETAILS.values(), ids=DETAILS)
def test_thoughts_in_details_alone_are_told(everything: Wired, lane: str, details: list[Chunk]) -> None:
    response = answered(everything, lane, [*details, says("405"), stops()])
    assert told(response) == {"status": "completed", "output": [{"thought": "15 * 27 = 405"}, {"text": "405"}]}
