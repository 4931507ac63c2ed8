"""An OpenAI chat-completions server that refuses what real ones refuse."""

import json
import re
from typing import Any, Final

from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import Ask, Json, Script

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")

_SETTINGS: Final = frozenset(
    {
        "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages", "metadata",
        "model", "parallel_tool_calls", "presence_penalty", "prompt_cache_key", "reasoning_effort", "response_format",
        "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options", "temperature",
        "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
    }
)  # fmt: skip
_MESSAGE_KEYS: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
}
_COUNTS: Final = ("/v1/chat/completions/input_tokens", "/tokenize")
"""Where llama.cpp and vLLM count tokens."""
_PARTS: Final = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}


class ChatUpstream(ScriptedUpstream):
    """`POST /v1/chat/completions`, streamed. A dict of the script is one chunk; ids and the like are filled in."""

    base_path = "/v1"

    def __init__(self, *scripts: Script, also: str = "") -> None:
        super().__init__(*scripts)
        self.also = frozenset(also.split())
        """Further top-level keys this server knows."""

    def faults(self, ask: Ask) -> list[str]:
        """Say what a strict chat server would refuse."""
        if ask.path in _COUNTS:
            return []
        if ask.path != "/v1/chat/completions":
            return [f"there is no {ask.path}"]
        body = ask.body
        found = [f"unknown parameter {key}" for key in body if key not in _SETTINGS | self.also]
        found += _setting_faults(body, speaks_whole=self.speaks_whole)
        found += _tool_faults(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return [*found, "messages must be a list that is not empty"]
        found += message_faults(messages)
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Fill in what every chunk has, and frame it."""
        if "error" not in step:
            result = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1_700_000_000}
            step = {**result, "model": ask.body["model"], **step}
        return b"data: " + json.dumps(step).encode() + b"\n\n"

    def last_word(self) -> bytes:
        """End the stream as OpenAI does."""
        return b"data: [DONE]\n\n"


def _setting_faults(body: Json, *, speaks_whole: bool) -> list[str]:
    found = []
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append("model must be a string that is not empty")
    streams = body.get("stream") is True
    if not streams and not speaks_whole:
        found.append("stream must be true")
    if not streams and "stream_options" in body:
        found.append("stream_options is for streams")
    if not speaks_whole and (body.get("stream_options") or {}).get("include_usage") is not True:
        found.append("stream_options.include_usage must be true")
    for key, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("max_tokens", 1, 1e9), ("top_logprobs", 0, 20)):
        if key in body and not (isinstance(body[key], int | float) and low <= body[key] <= high):
            found.append(f"{key} is out of range")
    if "top_logprobs" in body and body.get("logprobs") is not True:
        found.append("top_logprobs needs logprobs")
    found += [f"{key} is null" for key, value in body.items() if value is None]
    return found + _format_faults(body.get("response_format"))


def _format_faults(value: Any) -> list[str]:
    if value is None or value in ({"type": "text"}, {"type": "json_object"}):
        return []
    schema = value.get("json_schema") if isinstance(value, dict) and value.get("type") == "json_schema" else None
    if not isinstance(schema, dict) or not isinstance(schema.get("schema"), dict):
        return [f"response_format is not known: {value}"]
    return [] if _NAME.match(str(schema.get("name"))) else ["response_format.json_schema.name is missing or malformed"]


def _tool_faults(body: Json) -> list[str]:
    if "tools" not in body:
        return [f"{key} without tools" for key in ("tool_choice", "parallel_tool_calls") if key in body]
    tools = body["tools"]
    if not isinstance(tools, list) or not tools:
        return ["tools must not be empty"]
    found = []
    names: list[str] = []
    for index, tool in enumerate(tools):
        function = tool.get("function") if tool.get("type") == "function" else None
        if not isinstance(function, dict):
            found.append(f"tools[{index}] is not a function")
            continue
        names.append(str(function.get("name")))
        if not _NAME.match(names[-1]):
            found.append(f"tools[{index}].function.name is malformed: {names[-1]}")
        parameters = function.get("parameters", {"type": "object"})
        if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
            found.append(f"tools[{index}].function.parameters is not the schema of an object")
        if extra := function.keys() - {"name", "description", "parameters", "strict"}:
            found.append(f"tools[{index}].function has unknown keys: {sorted(extra)}")
    if len(set(names)) < len(names):
        found.append("two tools have the same name")
    return found + _choice_faults(body.get("tool_choice", "auto"), names)


def _choice_faults(choice: Any, names: list[str]) -> list[str]:
    if choice in ("auto", "none", "required"):
        return []
    if isinstance(choice, dict) and choice.get("type") == "function":
        return [] if choice.get("function", {}).get("name") in names else ["tool_choice names no tool"]
    return [f"tool_choice is not known: {choice}"]


def message_faults(messages: list[Json]) -> list[str]:
    """Say what is wrong with this history: roles, pairing of calls and outputs, names, contents, arguments."""
    found = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = str(message.get("role"))
        if role not in _MESSAGE_KEYS:
            found.append(f"{where}.role is not known: {role}")
            continue
        if extra := message.keys() - _MESSAGE_KEYS[role]:
            found.append(f"{where} has unknown keys: {sorted(extra)}")
        found += [f"{where}.{fault}" for fault in _content_faults(message, role)]
        if role == "tool":
            call = message.get("tool_call_id")
            if not waiting or call != waiting[0]:
                found.append(f"{where}.tool_call_id {call} does not answer the next open call of {waiting}")
            waiting = [other for other in waiting if other != call]
            continue
        if waiting:
            found.append(f"{where} stands before the outputs of {waiting}")
        calls = message.get("tool_calls", [])
        waiting = [str(call.get("id")) for call in calls]
        found += [f"{where}.{fault}" for fault in _call_faults(message)]
    if waiting:
        found.append(f"the calls {waiting} have no outputs")
    return found


def _call_faults(message: Json) -> list[str]:
    if "tool_calls" not in message:
        return []
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not calls:
        return ["tool_calls must not be empty"]
    found = []
    for index, call in enumerate(calls):
        function = call.get("function") or {}
        if call.keys() != {"id", "type", "function"} or function.keys() != {"name", "arguments"}:
            found.append(f"tool_calls[{index}] is malformed: {call}")
        if not call.get("id"):
            found.append(f"tool_calls[{index}].id is empty")
        if not _NAME.match(str(function.get("name"))):
            found.append(f"tool_calls[{index}].function.name is malformed")
        try:
            arguments = json.loads(function.get("arguments", ""))
        except (TypeError, ValueError):
            arguments = None
        if not isinstance(arguments, dict):
            found.append(f"tool_calls[{index}].function.arguments is not a JSON object")
    if len({call.get("id") for call in calls}) < len(calls):
        found.append("tool_calls has two calls with one id")
    return found


def _content_faults(message: Json, role: str) -> list[str]:
    content = message.get("content")
    if content is None:
        spared = role == "assistant" and (message.get("tool_calls") or message.get("refusal"))
        return [] if spared else ["content is missing"]
    if isinstance(content, str):
        return [] if content or role == "tool" else ["content is empty"]
    if not isinstance(content, list) or not content:
        return ["content is neither text nor parts"]
    found = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS[role]:
            found.append(f"content[{index}].type {kind} is not allowed for {role}")
        elif not _part_holds(part, kind):
            found.append(f"content[{index}] is empty or malformed: {str(part)[:80]}")
    return found


def _part_holds(part: Json, kind: str) -> bool:
    if part.keys() - {"type", kind}:
        return False
    held = part.get(kind)
    if kind in {"text", "refusal"}:
        return isinstance(held, str) and bool(held)
    if not isinstance(held, dict):
        return False
    if kind == "image_url":
        url = str(held.get("url"))
        fits = held.get("detail", "auto") in {"auto", "low", "high"}
        return fits and bool(re.match(r"https?://.|data:image/[a-z+.-]+;base64,.", url))
    if kind == "input_audio":
        return bool(held.get("data")) and held.get("format") in {"wav", "mp3"}
    return bool(held.get("file_data") or held.get("file_id"))
