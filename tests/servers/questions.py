"""What the tiny model is asked: once as a request to this server, and once by hand in each API of a model server."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]


def _properties(**types: str) -> Json:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(types), "additionalProperties": False}


STOPS: Final[Json] = {"type": "array", "items": {"type": "string"}}
TRIP: Final[Json] = {
    "type": "object",
    "properties": {"from": {"type": "string"}, "stops": STOPS, "seats": {"type": "integer"}},
    "required": ["from", "stops", "seats"],
    "additionalProperties": False,
}
TOOLS: Final[dict[str, Json]] = {
    "get_weather": _properties(city="string"),
    "get_time": _properties(zone="string"),
    "book": {"type": "object", "properties": {"trip": TRIP}, "required": ["trip"], "additionalProperties": False},
}
"""The parameters of each tool that is offered."""

SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
INSTRUCTIONS: Final = "Be brief, naïve and 友好."


@dataclass(frozen=True)
class Called:
    """A call of the past, with what the tool gave."""

    name: str
    arguments: str
    output: str
    thought: str = ""
    call_id: str = "call_1234567890"


@dataclass(frozen=True)
class Question:
    """A question, in no API."""

    text: str
    tools: bool = False
    choice: str = ""
    """`required`, or the name of a tool."""
    schema: Json | None = None
    limit: int | None = 300
    top_logprobs: int = 0
    called: Sequence[Called] = ()
    """One call after the other, after the text."""
    instructions: str = INSTRUCTIONS


def as_request(question: Question, model: str) -> Json:
    """As a request of the Responses API."""
    items: list[Json] = [{"type": "message", "role": "user", "content": question.text}]
    for call in question.called:
        if call.thought:
            content = [{"type": "reasoning_text", "text": call.thought}]
            items.append({"type": "reasoning", "id": f"rs_{call.call_id}", "summary": [], "content": content})
        made = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        items += [made, {"type": "function_call_output", "call_id": call.call_id, "output": call.output}]
    result: Json = {"model": model, "input": items, "temperature": 0, "instructions": question.instructions}
    if question.tools:
        result["tools"] = [
            {"type": "function", "name": name, "parameters": parameters, "strict": False}
            for name, parameters in TOOLS.items()
        ]
    if question.choice:
        named = {"type": "function", "name": question.choice}
        result["tool_choice"] = "required" if question.choice == "required" else named
    if question.schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": question.schema, "strict": True}
        result["text"] = {"format": form}
    if question.limit is not None:
        result["max_output_tokens"] = question.limit
    if question.top_logprobs:
        result |= {"top_logprobs": question.top_logprobs, "include": ["message.output_text.logprobs"]}
    return result


def as_chat(question: Question, model: str, reasoning_field: str) -> Json:
    """As a request for a chat completion."""
    messages: list[Json] = [{"role": "user", "content": question.text}]
    if question.instructions:
        messages.insert(0, {"role": "system", "content": question.instructions})
    for call in question.called:
        function = {"name": call.name, "arguments": call.arguments}
        made: Json = {
            "role": "assistant",
            "tool_calls": [{"id": call.call_id, "type": "function", "function": function}],
        }
        if call.thought:
            made[reasoning_field] = call.thought
        messages += [made, {"role": "tool", "tool_call_id": call.call_id, "content": call.output}]
    result: Json = {"model": model, "messages": messages, "temperature": 0}
    if question.tools:
        result["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": parameters, "strict": False}}
            for name, parameters in TOOLS.items()
        ]
    if question.choice:
        named = {"type": "function", "function": {"name": question.choice}}
        result["tool_choice"] = "required" if question.choice == "required" else named
    if question.schema is not None:
        schema = {"name": "answer", "schema": question.schema, "strict": True}
        result["response_format"] = {"type": "json_schema", "json_schema": schema}
    if question.limit is not None:
        result["max_tokens"] = question.limit
    if question.top_logprobs:
        result |= {"logprobs": True, "top_logprobs": question.top_logprobs}
    return result


def as_messages(question: Question, model: str) -> Json:
    """As a request of the Messages API."""
    messages: list[Json] = [{"role": "user", "content": question.text}]
    for call in question.called:
        made: Json = {
            "type": "tool_use",
            "id": call.call_id,
            "name": call.name,
            "input": json.loads(call.arguments),
        }
        thought = {"type": "thinking", "thinking": call.thought, "signature": ""}
        messages.append({"role": "assistant", "content": [thought, made] if call.thought else [made]})
        gave = {"type": "tool_result", "tool_use_id": call.call_id, "content": call.output}
        messages.append({"role": "user", "content": [gave]})
    result: Json = {"model": model, "messages": messages, "temperature": 0, "max_tokens": question.limit or 4096}
    if question.instructions:
        result["system"] = question.instructions
    if question.tools:
        result["tools"] = [{"name": name, "input_schema": parameters} for name, parameters in TOOLS.items()]
    if question.choice:
        named = {"type": "tool", "name": question.choice}
        result["tool_choice"] = {"type": "any"} if question.choice == "required" else named
    return result
