"""What Responses servers send that are not OpenAI: the same answer, as each of them words it.

llama_cpp(answer(…))     no `output_index`, no `content_index`, no `created_at`; calls have no id of their own;
                         responses have few fields, those of `created` and `in_progress` not even `output`
codex_backend(answer(…)) ChatGPT's backend for Codex: the last response has no output
copilot(answer(…))       every event has other ids
vllm(answer(…))          the last event is named `response.completed`, whatever the status inside; cut calls are done
transformers(answer(…))  `created_at` with a fraction, and no `in_progress`
"""

import json
from itertools import count
from typing import Any

from tests.support.servers.steps import Json


def _copy(events: list[Json]) -> list[Json]:
    told: list[Json] = json.loads(json.dumps(events))
    return told


def llama_cpp(events: list[Json]) -> list[Json]:
    """As llama-server does it."""
    told = _copy(events)
    for event in told:
        for key in ("output_index", "content_index", "summary_index", "sequence_number"):
            event.pop(key, None)
        if "response" in event:
            begins = event["type"] in {"response.created", "response.in_progress"}
            left = ("id", "object", "status", *(() if begins else ("model", "output", "usage", "incomplete_details")))
            event["response"] = {key: event["response"][key] for key in left}
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None and item["type"] == "function_call":
                item["call_id"] = item.pop("id")
    return told


def codex_backend(events: list[Json]) -> list[Json]:
    """As ChatGPT does it for Codex."""
    told = _copy(events)
    told[-1]["response"]["output"] = []
    return told


def copilot(events: list[Json]) -> list[Json]:
    """As GitHub does it."""
    numbers = count(1)
    told = _copy(events)

    def rename(held: Any) -> None:
        if isinstance(held, dict):
            for key in held:
                if key in {"id", "item_id"}:
                    held[key] = f"{held[key]}x{next(numbers)}"
                else:
                    rename(held[key])
        elif isinstance(held, list):
            for entry in held:
                rename(entry)

    for event in told:
        rename(event)
    return told


def vllm(events: list[Json]) -> list[Json]:
    """As vLLM does it."""
    told = _copy(events)
    told[-1]["type"] = "response.completed"
    for event in told:
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None and item["status"] == "incomplete":
                item["status"] = "completed"
    return told


def transformers(events: list[Json]) -> list[Json]:
    """As `transformers serve` does it."""
    told = [event for event in _copy(events) if event["type"] != "response.in_progress"]
    for event in told:
        if "response" in event:
            event["response"]["created_at"] += 0.5
    return told
