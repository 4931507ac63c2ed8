"""What differs between chat servers in how they want to be asked. Pure."""

from typing import Any, Literal, NamedTuple

Json = dict[str, Any]


class ChatManners(NamedTuple):
    """The manners of one server. As they stand here, an ask is sent exactly as it is."""

    stream_options: bool = True
    """False: never sent. True: sent until the server refuses it."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the limit is called. OpenAI's newer models know the longer name only, most other servers the shorter."""
    system_role: Literal["system", "developer"] = "system"
    """Under which role instructions go."""
    strict_tools: bool = True
    """False: `strict` is taken off tools, for servers that refuse a key they do not know."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """Under which name earlier thoughts go back; none: they do not."""


def shaped(ask: Json, manners: ChatManners) -> Json:
    """The ask as this server wants it. The given one is left as it is."""
    body = dict(ask)
    if not manners.stream_options:
        body.pop("stream_options", None)
    if "max_tokens" in body and manners.max_tokens_field != "max_tokens":
        body[manners.max_tokens_field] = body.pop("max_tokens")
    if not manners.strict_tools and "tools" in body:
        body["tools"] = [_not_strict(tool) for tool in body["tools"]]
    if manners.system_role != "system" or manners.reasoning_field != "reasoning_content":
        body["messages"] = [_message(message, manners) for message in body["messages"]]
    return body


def _not_strict(tool: Json) -> Json:
    function = {key: value for key, value in tool["function"].items() if key != "strict"}
    return {**tool, "function": function}


def _message(message: Json, manners: ChatManners) -> Json:
    if message["role"] == "system":
        return {**message, "role": manners.system_role}
    if "reasoning_content" not in message:
        return message
    told = {key: value for key, value in message.items() if key != "reasoning_content"}
    if manners.reasoning_field != "none":
        told[manners.reasoning_field] = message["reasoning_content"]
    return told
