"""The scripted servers: an answer in the words of each API, and a reader of what each was asked."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count, pairwise, zip_longest
from typing import Any, Final, NamedTuple

from tests.matrix.cells import BOOM, WAIT, Answer
from tests.matrix.clients import Client
from tests.wire import script
from tests.wire.servers import AnthropicUpstream, ChatUpstream, Cut, Json, Pause, ScriptedUpstream, Status, Step
from tests.wire.servers import anthropic as claude

SIGNATURE: Final = "c2ln"


class Body(NamedTuple):
    """What one ask holds."""

    calls: Mapping[str, tuple[str, Any]]
    """Names and arguments, by the ids of the calls."""
    outputs: Mapping[str, str]
    """What the tools gave, by the ids of the calls."""
    pictures: list[str]
    """As `data:` URLs, those of tools too."""
    tools: list[str]
    """The names of the tools that are offered."""
    schema: list[str] | None
    """The required members of the answer."""
    thinks: bool
    """Whether the model is asked to think."""
    thoughts: list[tuple[str, str]]
    """What it thought before calls, with the id of the first."""


class Lane(NamedTuple):
    """An API by which the server asks the model."""

    via: str
    model: str
    server: Callable[[], ScriptedUpstream]
    steps: Callable[[Answer, Client], list[Step]]
    read: Callable[[Json], Body]
    relayed: bool = False
    """Whether another AM Proxy is in between: a server with the whole Responses API."""


def _pieces(text: str) -> list[str]:
    """In pieces of three characters, so that escapes are cut anywhere."""
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def _refused(status: int) -> list[Step]:
    """An error instead of an answer, in the words of both APIs."""
    kind, headers = ("rate_limit_error", {"retry-after": str(WAIT)}) if status == 429 else ("api_error", {})
    return [Status(status, {"type": "error", "error": {"type": kind, "message": BOOM}}, headers)]


def chat_steps(answer: Answer, client: Client) -> list[Step]:
    """An answer of a chat server, as it calls this client's tools."""
    if answer.status:
        return _refused(answer.status)
    words = ((script.thinks, answer.thinks), (script.says, answer.says), (script.refuses, answer.refuses))
    said: list[Step] = [make(piece) for make, text in words for piece in _pieces(text)]
    if answer.silence:
        said.insert(1, Pause(answer.silence))
    made = [(number, f"call_{key}", client.calls[key]) for number, key in enumerate(answer.calls)]
    opened = [script.calls(number, call.name, id=call_id) for number, call_id, call in made]
    more = [[script.more(number, piece) for piece in _pieces(call.arguments)] for number, _, call in made]
    if client.by_turns:
        said += [*opened, *filter(None, chain.from_iterable(zip_longest(*more)))]
    else:
        said += chain.from_iterable([first, *rest] for first, rest in zip(opened, more, strict=True))
    if answer.ends in {"error", "cut"}:
        return [script.opens(), *said, Pause(0.3), Cut() if answer.ends == "cut" else script.breaks(BOOM)]
    reason = "tool_calls" if answer.calls else answer.ends or "stop"
    return [script.opens(), *said, script.stops(reason), script.counts(7, 5)]


def messages_steps(answer: Answer, client: Client) -> list[Step]:
    """An answer of a server of the Messages API, one call after the other. A refusal is its explanation of the end."""
    if answer.status:
        return _refused(answer.status)
    numbers, blocks = count(), list[Step]()
    if answer.thinks:
        blocks += claude.thinking(next(numbers), *_pieces(answer.thinks), signature=SIGNATURE)
    if answer.says:
        blocks += claude.text(next(numbers), *_pieces(answer.says))
    for key in answer.calls:
        call = client.calls[key]
        blocks += claude.tool_use(next(numbers), call.name, f"call_{key}", *_pieces(call.arguments))
    if answer.silence:
        blocks.insert(2, Pause(answer.silence))
    if answer.ends in {"error", "cut"}:
        error = {"type": "error", "error": {"type": "api_error", "message": BOOM}}
        return [*claude.begins(), *blocks[:-1], Pause(0.3), Cut() if answer.ends == "cut" else error]
    reason = "tool_use" if answer.calls else {"length": "max_tokens", "": "end_turn"}[answer.ends]
    stop, over = claude.ends("refusal" if answer.refuses else reason)
    if answer.refuses:
        stop["delta"]["stop_details"] = {"type": "refusal", "explanation": answer.refuses, "category": None}
    return [*claude.begins(), *blocks, stop, over]


def chat_body(body: Json) -> Body:
    """The body of a request for a chat completion."""
    messages: list[Json] = body["messages"]
    made = [call for message in messages for call in message.get("tool_calls", [])]
    calling = [message for message in messages if message.get("tool_calls")]
    return Body(
        {call["id"]: (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made},
        {message["tool_call_id"]: str(message["content"]) for message in messages if message["role"] == "tool"},
        [part["image_url"]["url"] for part in _parts(messages, "user") if part["type"] == "image_url"],
        [tool["function"]["name"] for tool in body.get("tools", [])],
        body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("required"),
        "reasoning_effort" in body,
        [(each["reasoning_content"], each["tool_calls"][0]["id"]) for each in calling if "reasoning_content" in each],
    )


def messages_body(body: Json) -> Body:
    """The body of a request to the Messages API."""
    said, sent = (list(_parts(body["messages"], role)) for role in ("assistant", "user"))
    gave = {block["tool_use_id"]: block["content"] for block in sent if block["type"] == "tool_result"}
    thoughts = [pair for pair in pairwise(said) if [each["type"] for each in pair] == ["thinking", "tool_use"]]
    inner = [part for content in gave.values() if isinstance(content, list) for part in content]
    return Body(
        {block["id"]: (block["name"], block["input"]) for block in said if block["type"] == "tool_use"},
        {call_id: content if isinstance(content, str) else json.dumps(content) for call_id, content in gave.items()},
        [_data_url(block["source"]) for block in [*sent, *inner] if block["type"] == "image"],
        [tool["name"] for tool in body.get("tools", [])],
        body.get("output_config", {}).get("format", {}).get("schema", {}).get("required"),
        body.get("thinking", {}).get("type") in {"enabled", "adaptive"},
        [(old["thinking"] if old["signature"] == SIGNATURE else str(old), block["id"]) for old, block in thoughts],
    )


def _parts(messages: list[Json], role: str) -> Iterator[Json]:
    """The parts of all messages of this role."""
    for message in messages:
        if message["role"] == role and isinstance(message["content"], list):
            yield from message["content"]


def _data_url(source: Json) -> str:
    return f"data:{source.get('media_type')};base64,{source.get('data')}"


LANES: Final = {
    "chat": Lane("chat", "scripted", ChatUpstream, chat_steps, chat_body),
    "messages": Lane("messages", "claude-sonnet-4-6", AnthropicUpstream, messages_steps, messages_body),
    "native": Lane("responses", "scripted", ChatUpstream, chat_steps, chat_body, relayed=True),
}
