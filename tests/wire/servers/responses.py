"""A server that speaks Responses itself, and what it says, in whole answers.

    ResponsesUpstream(answer(message("msg_1", "Hel", "lo"), call("fc_1", "call_1", "weather", '{"city"', ":1}")))

Its ids look like OpenAI's. An id that it never gave out is refused, as it is by servers that look ids up.
"""

import json
import re
from typing import Any, Final, NamedTuple

from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import Ask, Json

_STATEFUL: Final = ("previous_response_id", "conversation", "prompt")
_FOREIGN: Final = re.compile(r"(^|_)AM-")
_OTHERS: Final = {
    "/v1/responses/compact": frozenset({"model", "input", "instructions"}),
    "/v1/responses/input_tokens": frozenset({"model", "input", "instructions", "tools", "reasoning", "text"}),
}
"""The members that other addresses take."""


class ResponsesUpstream(ScriptedUpstream):
    """`POST /v1/responses`, streamed. A dict of the script is one event."""

    base_path = "/v1"

    def faults(self, ask: Ask) -> list[str]:
        """Say what a real server would refuse."""
        if ask.path in _OTHERS:
            return [f"unknown parameter {key}" for key in ask.body.keys() - _OTHERS[ask.path]]
        if ask.path != "/v1/responses":
            return [f"there is no {ask.path}"]
        body = ask.body
        found = [f"{key} is refused" for key in _STATEFUL if body.get(key) is not None]
        if not isinstance(body.get("model"), str) or not body["model"]:
            found.append("model must be a string that is not empty")
        if body.get("stream") is not True:
            found.append("stream must be true")
        items = body.get("input")
        if isinstance(items, list):
            ids = [str(item.get(key, "")) for item in items for key in ("id", "approval_request_id")]
            found += [f"no item {given} was ever given out" for given in ids if _FOREIGN.search(given)]
        elif not isinstance(items, str):
            found.append("input is missing")
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame it as OpenAI does."""
        return f"event: {step.get('type')}\ndata: {json.dumps(step)}\n\n".encode()


class ScriptedItem(NamedTuple):
    """What is said of an item between its birth and its end, the item as it is born, and as it is done."""

    between: list[Json]
    born: Json
    done: Json


def response(output: list[Json] | None = None, status: str = "in_progress", **fields: Any) -> Json:
    """The response as OpenAI shows it."""
    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    return {
        "id": "resp_68ab",
        "object": "response",
        "created_at": 1_700_000_000,
        "completed_at": 1_700_000_005 if status == "completed" else None,
        "status": status,
        "background": False,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "model": "gpt-5-2025-08-07",
        "output": output or [],
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None if status == "in_progress" else usage,
        **fields,
    }


def begins() -> list[Json]:
    """The first two events."""
    return [{"type": f"response.{word}", "response": response()} for word in ("created", "in_progress")]


def items(*scripted: ScriptedItem) -> list[Json]:
    """Whole items, one after the other."""
    events: list[Json] = []
    for index, (between, born, done) in enumerate(scripted):
        events.append({"type": "response.output_item.added", "output_index": index, "item": born})
        events += [{"output_index": index, "item_id": born["id"], **event} for event in between]
        events.append({"type": "response.output_item.done", "output_index": index, "item": done})
    return events


def ends(*scripted: ScriptedItem, status: str = "completed", **fields: Any) -> Json:
    """The last event."""
    return {"type": f"response.{status}", "response": response([done for _, _, done in scripted], status, **fields)}


def numbered(events: list[Json]) -> list[Json]:
    """The same events, with their numbers."""
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def answer(*scripted: ScriptedItem, status: str = "completed", **fields: Any) -> list[Json]:
    """A whole answer."""
    return numbered([*begins(), *items(*scripted), ends(*scripted, status=status, **fields)])


def message(item_id: str, *texts: str) -> ScriptedItem:
    """A message of one text."""
    part = {"type": "output_text", "text": "", "annotations": []}
    whole = {**part, "text": "".join(texts)}
    spot = {"content_index": 0}
    between = [
        {"type": "response.content_part.added", **spot, "part": part},
        *[{"type": "response.output_text.delta", **spot, "delta": text, "logprobs": []} for text in texts],
        {"type": "response.output_text.done", **spot, "text": whole["text"], "logprobs": []},
        {"type": "response.content_part.done", **spot, "part": whole},
    ]
    born = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    return ScriptedItem(between, born, {**born, "status": "completed", "content": [whole]})


def reasoning(item_id: str, *texts: str, encrypted: str = "c2VjcmV0") -> ScriptedItem:
    """A reasoning item of one summary."""
    part = {"type": "summary_text", "text": ""}
    whole = {**part, "text": "".join(texts)}
    spot = {"summary_index": 0}
    between = [
        {"type": "response.reasoning_summary_part.added", **spot, "part": part},
        *[{"type": "response.reasoning_summary_text.delta", **spot, "delta": text} for text in texts],
        {"type": "response.reasoning_summary_text.done", **spot, "text": whole["text"]},
        {"type": "response.reasoning_summary_part.done", **spot, "part": whole},
    ]
    born = {"id": item_id, "type": "reasoning", "status": "in_progress", "summary": []}
    return ScriptedItem(
        between, born, {**born, "status": "completed", "summary": [whole], "encrypted_content": encrypted}
    )


def call(item_id: str, call_id: str, name: str, *arguments: str) -> ScriptedItem:
    """A call of a function."""
    whole = "".join(arguments)
    between = [
        *[{"type": "response.function_call_arguments.delta", "delta": text} for text in arguments],
        {"type": "response.function_call_arguments.done", "name": name, "arguments": whole},
    ]
    born = {"id": item_id, "type": "function_call", "status": "in_progress", "call_id": call_id, "name": name}
    return ScriptedItem(between, {**born, "arguments": ""}, {**born, "status": "completed", "arguments": whole})


def hosted(kind: str, item_id: str, *words: str, **done: Any) -> ScriptedItem:
    """An item of a tool that the upstream runs itself: `hosted("web_search_call", "ws_1", "searching")`."""
    between = [{"type": f"response.{kind}.{word}"} for word in words]
    born = {"id": item_id, "type": kind, "status": "in_progress"}
    return ScriptedItem(between, born, {**born, "status": "completed", **done})
