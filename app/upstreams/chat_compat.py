"""What differs between chat servers in how they want to be asked. Pure."""

from typing import Any, Final, Literal, NamedTuple

Json = dict[str, Any]

BLANK: Final = " "
"""The shortest thought that DeepSeek takes for one."""


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
    blank_reasoning: bool = False
    """True: what the assistant said without thoughts goes back with a blank one, for servers that demand them. Another
    model may have said it, or the client may have forgotten what was thought."""


def shaped(ask: Json, manners: ChatManners) -> Json:
    """The ask as this server wants it. The given one is left as it is."""
    body = dict(ask)
    if not manners.stream_options:
        body.pop("stream_options", None)
    if "max_tokens" in body and manners.max_tokens_field != "max_tokens":
        body[manners.max_tokens_field] = body.pop("max_tokens")
    if not manners.strict_tools and "tools" in body:
        body["tools"] = [_not_strict(tool) for tool in body["tools"]]
    if manners.blank_reasoning:
        body["messages"] = [thoughtful(message) for message in body["messages"]]
    if manners.system_role != "system" or manners.reasoning_field != "reasoning_content":
        body["messages"] = [_message(message, manners) for message in body["messages"]]
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


def _message(message: Json, manners: ChatManners) -> Json:
    if message["role"] == "system":
        return {**message, "role": manners.system_role}
    if "reasoning_content" not in message:
        return message
    told = {key: value for key, value in message.items() if key != "reasoning_content"}
    if manners.reasoning_field != "none":
        told[manners.reasoning_field] = message["reasoning_content"]
    return told
