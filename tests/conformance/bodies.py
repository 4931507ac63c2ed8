"""Readers of what the scripted upstream was asked: one for each API, all with the same result."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from tests.support.chat_as_messages import SIGNATURE
from tests.support.event_scripts import ENCRYPTED

Json = dict[str, Any]


class MadeCall(NamedTuple):
    """A past call of the history."""

    name: str
    arguments: Any
    """As JSON says them."""


class Body(NamedTuple):
    """What one ask holds."""

    calls: Mapping[str, MadeCall]
    """By their ids."""
    outputs: Mapping[str, str]
    """What the tools gave, by the ids of the calls."""
    pictures: list[str]
    """As `data:` URLs, those of tools too."""
    tools: list[str]
    """The names of the tools that are offered."""
    schema: Json | None
    """The schema of the answer."""
    thinks: bool
    """Whether the model is asked to think."""
    thoughts: list[tuple[str, str]]
    """What it thought before calls, with the ids of the calls."""


Read = Callable[[Json], Body]


def chat_body(body: Json) -> Body:
    """The body of a request for a chat completion."""
    messages: list[Json] = body["messages"]
    made = [call for message in messages for call in message.get("tool_calls", [])]
    form = body.get("response_format") or {}
    return Body(
        {call["id"]: MadeCall(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made},
        {message["tool_call_id"]: str(message["content"]) for message in messages if message["role"] == "tool"},
        [part["image_url"]["url"] for part in _parts(messages, "user") if part["type"] == "image_url"],
        [tool["function"]["name"] for tool in body.get("tools", [])],
        form["json_schema"]["schema"] if form.get("type") == "json_schema" else None,
        "reasoning_effort" in body,
        [
            (message["reasoning_content"], message["tool_calls"][0]["id"])
            for message in messages
            if message.get("reasoning_content") and message.get("tool_calls")
        ],
    )


def messages_body(body: Json) -> Body:
    """The body of a request to the Messages API."""
    made = [block for block in _parts(body["messages"], "assistant") if block["type"] == "tool_use"]
    sent = list(_parts(body["messages"], "user"))
    gave = {block["tool_use_id"]: block["content"] for block in sent if block["type"] == "tool_result"}
    inner = [part for content in gave.values() if isinstance(content, list) for part in content]
    form = body.get("output_config", {}).get("format") or {}
    return Body(
        {block["id"]: MadeCall(block["name"], block["input"]) for block in made},
        {call_id: content if isinstance(content, str) else _text(content) for call_id, content in gave.items()},
        [_data_url(block["source"]) for block in [*sent, *inner] if block["type"] == "image"],
        [tool["name"] for tool in body.get("tools", [])],
        form["schema"] if form.get("type") == "json_schema" else None,
        body.get("thinking", {}).get("type") in {"enabled", "adaptive"},
        [
            (_thought(thought), block["id"])
            for thought, block in pairwise(_parts(body["messages"], "assistant"))
            if thought["type"] == "thinking" and block["type"] == "tool_use"
        ],
    )


def responses_body(body: Json) -> Body:
    """The body of a request to the Responses API."""
    items: list[Json] = body["input"] if isinstance(body["input"], list) else []
    made = [item for item in items if item.get("type") == "function_call"]
    gave = {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}
    contents = [item["content"] for item in items if item.get("role") == "user"] + list(gave.values())
    parts = [part for content in contents if isinstance(content, list) for part in content]
    form = body.get("text", {}).get("format") or {}
    return Body(
        {item["call_id"]: MadeCall(item["name"], json.loads(item["arguments"])) for item in made},
        {call_id: content if isinstance(content, str) else _text(content) for call_id, content in gave.items()},
        [part["image_url"] for part in parts if part["type"] == "input_image"],
        [tool["name"] for tool in body.get("tools", [])],
        form["schema"] if form.get("type") == "json_schema" else None,
        (body.get("reasoning") or {}).get("effort") not in {None, "none"},
        [
            (_reasoning(thought), item["call_id"])
            for thought, item in pairwise(items)
            if thought.get("type") == "reasoning" and item.get("type") == "function_call"
        ],
    )


def _reasoning(item: Json) -> str:
    """What was thought; with its encrypted form, if that was altered."""
    text = "".join(part["text"] for part in item.get("summary") or item.get("content") or [])
    encrypted = item.get("encrypted_content")
    return text if encrypted in {None, ENCRYPTED} else f"{text} {encrypted}"


def _parts(messages: list[Json], role: str) -> Iterator[Json]:
    """The parts of all messages of this role."""
    for message in messages:
        if message["role"] == role and isinstance(message["content"], list):
            yield from message["content"]


def _text(content: list[Json]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] in {"text", "input_text"})


def _thought(block: Json) -> str:
    """What was thought; with its signature, if that was altered."""
    return str(block["thinking"]) if block["signature"] == SIGNATURE else f"{block['thinking']} {block['signature']}"


def _data_url(source: Json) -> str:
    if source["type"] != "base64":
        return str(source.get("url"))
    return f"data:{source['media_type']};base64,{source['data']}"
