"""What Responses servers send that are not OpenAI: the same answer, as each of them words it.

llama_cpp(answer(…))     no `output_index`, no `content_index`, no `created_at`; calls have no id of their own;
                         responses have few fields, those of `created` and `in_progress` not even `output`
codex_backend(answer(…)) ChatGPT's backend for Codex: the last response has no output
copilot(answer(…))       every event has other ids
vllm(answer(…))          the last event is named `response.completed`, whatever the status inside; cut calls are done
transformers(answer(…))  `created_at` with a fraction, and no `in_progress`
all_at_zero(answer(…))   every item has the `output_index` 0, as from proxies in front of chat completions
"""

import json
from itertools import count
from typing import Any

from tests.wire.servers.steps import Json


def _copy(events: list[Json]) -> list[Json]:
    received: list[Json] = json.loads(json.dumps(events))
    return received


def llama_cpp(events: list[Json]) -> list[Json]:
    """As llama-server does it."""
    received = _copy(events)
    for event in received:
        for key in ("output_index", "content_index", "summary_index", "sequence_number"):
            event.pop(key, None)
        if "response" in event:
            begins = event["type"] in {"response.created", "response.in_progress"}
            left = ("id", "object", "status", *(() if begins else ("model", "output", "usage", "incomplete_details")))
            event["response"] = {key: event["response"][key] for key in left}
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None and item["type"] == "function_call":
                item["call_id"] = item.pop("id")
    return received


def codex_backend(events: list[Json]) -> list[Json]:
    """As ChatGPT does it for Codex."""
    received = _copy(events)
    received[-1]["response"]["output"] = []
    return received


def copilot(events: list[Json]) -> list[Json]:
    """As GitHub does it."""
    numbers = count(1)
    received = _copy(events)

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

    for event in received:
        rename(event)
    return received


def vllm(events: list[Json]) -> list[Json]:
    """As vLLM does it."""
    received = _copy(events)
    received[-1]["type"] = "response.completed"
    for event in received:
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None and item["status"] == "incomplete":
                item["status"] = "completed"
    return received


def transformers(events: list[Json]) -> list[Json]:
    """As `transformers serve` does it."""
    received = [event for event in _copy(events) if event["type"] != "response.in_progress"]
    for event in received:
        if "response" in event:
            event["response"]["created_at"] += 0.5
    return received


def all_at_zero(events: list[Json]) -> list[Json]:
    """As many proxies do it."""
    return [{**event, "output_index": 0} if "output_index" in event else event for event in _copy(events)]
