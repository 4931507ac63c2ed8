"""Shapes a chat request body for one server, by its `ChatCompat`. Pure."""

from typing import Any, Final

from app.options import ChatCompat

Json = dict[str, Any]

BLANK: Final = " "
"""The shortest thought that DeepSeek takes for one."""


def shaped(ask: Json, compat: ChatCompat) -> Json:
    """The ask as this server wants it. The given one is left as it is."""
    body = dict(ask)
    if not compat.stream_options:
        body.pop("stream_options", None)
    if "max_tokens" in body and compat.max_tokens_field != "max_tokens":
        body[compat.max_tokens_field] = body.pop("max_tokens")
    if not compat.strict_tools and "tools" in body:
        body["tools"] = [_not_strict(tool) for tool in body["tools"]]
    if compat.blank_reasoning:
        body["messages"] = [thoughtful(message) for message in body["messages"]]
    if compat.system_role != "system" or compat.reasoning_field != "reasoning_content":
        body["messages"] = [_message(message, compat) for message in body["messages"]]
    return body


def tokenized(body: Json) -> Json:
    """What vLLM's `/tokenize` is asked for a shaped ask.

    It knows earlier thoughts by one name, which depends on its version, where chat completions know both: it is given
    both, and its templates read one.
    """
    told: Json = {name: body[name] for name in ("model", "messages", "tools") if name in body}
    told["messages"] = [_thoughts_twice(message) for message in body["messages"]]
    return told


def _thoughts_twice(message: Json) -> Json:
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    return {**message, "reasoning": thoughts, "reasoning_content": thoughts} if thoughts else message


def thoughtful(message: Json) -> Json:
    """The message, with a blank thought where an assistant's has none."""
    if message["role"] != "assistant" or message.get("reasoning_content"):
        return message
    return {**message, "reasoning_content": BLANK}


def _not_strict(tool: Json) -> Json:
    function = {key: value for key, value in tool["function"].items() if key != "strict"}
    return {**tool, "function": function}


def _message(message: Json, compat: ChatCompat) -> Json:
    if message["role"] == "system":
        return {**message, "role": compat.system_role}
    if "reasoning_content" not in message:
        return message
    told = {key: value for key, value in message.items() if key != "reasoning_content"}
    if compat.reasoning_field != "none":
        told[compat.reasoning_field] = message["reasoning_content"]
    return told
