"""Shapes a chat request body for one server, by its `ChatCompat`. Pure."""

from typing import Any, Final

from ..options import ChatCompat

Json = dict[str, Any]

BLANK: Final = " "
"""The shortest reasoning that DeepSeek accepts."""


def shaped(ask: Json, compat: ChatCompat) -> Json:
    """A copy of the ask in the form that this server accepts."""
    body = dict(ask)
    if not compat.stream_options:
        body.pop("stream_options", None)
    if "max_tokens" in body and compat.max_tokens_field != "max_tokens":
        body[compat.max_tokens_field] = body.pop("max_tokens")
    if not compat.strict_tools and "tools" in body:
        body["tools"] = [_without_strict(tool) for tool in body["tools"]]
    if compat.blank_reasoning:
        body["messages"] = [with_reasoning(message) for message in body["messages"]]
    if compat.system_role != "system" or compat.reasoning_field != "reasoning_content":
        body["messages"] = [_message(message, compat) for message in body["messages"]]
    return body


def tokenized(body: Json) -> Json:
    """The body for vLLM's `/tokenize`, from a shaped chat body.

    It reads earlier reasoning from one of two fields, by its version, so both are sent.
    """
    sent: Json = {name: body[name] for name in ("model", "messages", "tools") if name in body}
    sent["messages"] = [_in_both_fields(message) for message in body["messages"]]
    return sent


def _in_both_fields(message: Json) -> Json:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return {**message, "reasoning": reasoning, "reasoning_content": reasoning} if reasoning else message


def with_reasoning(message: Json) -> Json:
    """The message, with blank reasoning if it is an assistant's without any."""
    if message["role"] != "assistant" or message.get("reasoning_content"):
        return message
    return {**message, "reasoning_content": BLANK}


def _without_strict(tool: Json) -> Json:
    function = {key: value for key, value in tool["function"].items() if key != "strict"}
    return {**tool, "function": function}


def _message(message: Json, compat: ChatCompat) -> Json:
    if message["role"] == "system":
        return {**message, "role": compat.system_role}
    if "reasoning_content" not in message:
        return message
    sent = {key: value for key, value in message.items() if key != "reasoning_content"}
    if compat.reasoning_field != "none":
        sent[compat.reasoning_field] = message["reasoning_content"]
    return sent
