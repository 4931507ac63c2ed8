"""Prompt -> a body in the manner of Anthropic's Messages API: what a dialect beside chat needs of a prompt.

Unlike a chat message, an assistant's turn keeps the order of its texts, thoughts and calls, images stand in the outputs
of tools, and system text has a place of its own at the head.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from app.bridges.base import FunctionSpec
from app.prompt.history import EMPTY_OUTPUT
from app.prompt.nouns import (
    Assistant,
    AssistantMessage,
    Audio,
    Call,
    Entry,
    File,
    Hints,
    Image,
    JsonSchema,
    Part,
    PastThought,
    Piece,
    Prompt,
    ProviderState,
    Sampling,
    System,
    Text,
    ToolOutput,
    User,
    WebSearch,
)
from app.prompt.sealed_state import StateForm, merged
from app.protocol.warnings import ClientWarning, no_effect

Json = dict[str, Any]

MOST_TOKENS: Final = 8_192
"""The limit of an answer where the client gives none: this API demands one."""
BLOCKS: Final = "thinking_blocks"
MARK: Final = {"type": "ephemeral"}
TURNS_TO_MARK: Final = 2
UNSUPPORTED: Final = ("presence_penalty", "frequency_penalty", "top_logprobs")


def _words_of(fields: Json) -> str:
    return "".join([block.get("thinking", "") for block in fields.get(BLOCKS, ())])


FORM: Final = StateForm(merged, _words_of)
"""Its state is the blocks of reasoning, which hold their own words."""


class MessagesBody(NamedTuple):
    """A body, and what of the prompt it does not hold as it was given."""

    body: Json
    warnings: list[ClientWarning]


def encode(prompt: Prompt, *, model: str, cache: bool = False) -> MessagesBody:
    """The body for this prompt. `cache` marks what the server should keep."""
    head = list(takewhile(lambda entry: isinstance(entry, System), prompt.entries))
    messages = _messages(prompt.entries[len(head) :])
    system = [_text(entry.text) for entry in head if isinstance(entry, System)]
    tools = [_tool(spec) for spec in prompt.functions] + _web_search(prompt.web_search)
    if cache:
        users = [message for message in messages if message["role"] == "user"]
        for blocks in (system, tools, *[message["content"] for message in users[-TURNS_TO_MARK:]]):
            if blocks:
                blocks[-1] = blocks[-1] | {"cache_control": MARK}
    body: Json = {
        "model": model,
        "max_tokens": prompt.sampling.max_tokens or MOST_TOKENS,
        **({"system": system} if system else {}),
        "messages": messages,
        **({"tools": tools} if tools else {}),
        **_tool_choice(prompt),
        **_sampling(prompt.sampling),
        **({"output_config": {"effort": prompt.effort}} if prompt.effort else {}),
        **_output_format(prompt),
        **_hints(prompt.hints),
        "stream": True,
    }
    return MessagesBody(body, _warnings(prompt))


def _messages(entries: Iterable[Entry]) -> list[Json]:
    """User and assistant take turns: the outputs of calls and what the user says next are one message."""
    messages: list[Json] = []
    for entry in entries:
        role = "assistant" if isinstance(entry, Assistant) else "user"
        blocks = _blocks(entry)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def _blocks(entry: Entry) -> list[Json]:
    match entry:
        case System():
            return [_text(f"<system>\n{entry.text}\n</system>")]
        case User():
            return [_part(part) for part in entry.parts]
        case Assistant():
            return [block for piece in entry.pieces for block in _piece(piece)]
        case ToolOutput():
            parts = [_part(part) for part in entry.parts] or [_text(EMPTY_OUTPUT)]
            return [{"type": "tool_result", "tool_use_id": entry.call_id, "content": parts}]
        case _:
            assert_never(entry)


def _piece(piece: Piece) -> list[Json]:
    match piece:
        case AssistantMessage():
            return [_text(part.text) for part in piece.parts]
        case PastThought():
            return []  # only what this server signed goes back: it stands in the state
        case ProviderState():
            return list(piece.fields.get(BLOCKS, ()))
        case Call():
            arguments = msgspec.json.decode(piece.arguments)
            return [{"type": "tool_use", "id": piece.id, "name": piece.name, "input": arguments}]
        case _:
            assert_never(piece)


def _part(part: Part) -> Json:
    match part:
        case Text():
            return _text(part.text)
        case Image():
            return {"type": "image", "source": _source(part.url)}
        case File():
            return {"type": "document", "title": part.name, "source": _source(part.url)}
        case Audio():
            return _text("[A recording was left out here.]")
        case _:
            assert_never(part)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _source(url: str) -> Json:
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "base64", "media_type": media_type, "data": data}


def _tool(spec: FunctionSpec) -> Json:
    tool: Json = {"name": spec.name, "input_schema": spec.parameters or {"type": "object", "properties": {}}}
    if spec.description:
        tool["description"] = spec.description
    if spec.strict is not None:
        tool["strict"] = spec.strict
    return tool


def _web_search(search: WebSearch | None) -> list[Json]:
    if search is None:
        return []
    tool: Json = {"type": "web_search_20250305", "name": "web_search"}
    if search.location is not None:
        tool["user_location"] = {"type": "approximate", **search.location}
    return [tool]


def _tool_choice(prompt: Prompt) -> Json:
    if not prompt.functions:
        return {}
    choice: Json = {"type": {"required": "any"}.get(prompt.choice.mode, prompt.choice.mode)}
    if prompt.choice.name is not None:
        choice = {"type": "tool", "name": prompt.choice.name}
    if prompt.parallel_calls is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {} if choice == {"type": "auto"} else {"tool_choice": choice}


def _sampling(sampling: Sampling) -> Json:
    given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    return {name: value for name, value in given.items() if value is not None}


def _output_format(prompt: Prompt) -> Json:
    """Without a schema there is nothing to enforce: rules for this server let the prompt ask in words instead."""
    if not isinstance(prompt.output, JsonSchema):
        return {}
    return {"output_format": {"type": "json_schema", "schema": prompt.output.schema}}


def _hints(hints: Hints) -> Json:
    user = hints.safety_identifier or hints.user
    tier = {"auto": "auto", "default": "standard_only"}.get(hints.service_tier or "")
    return ({"metadata": {"user_id": user}} if user else {}) | ({"service_tier": tier} if tier else {})


def _warnings(prompt: Prompt) -> list[ClientWarning]:
    lost = [no_effect(name) for name in UNSUPPORTED if getattr(prompt.sampling, name) is not None]
    if prompt.verbosity is not None:
        lost.append(no_effect("text.verbosity", "verbosity"))
    unsigned = sum(_unsigned(entry.pieces) for entry in prompt.entries if isinstance(entry, Assistant))
    if unsigned:
        details = f"Reasoning that this model's server did not sign was left out ({unsigned})."
        lost.append(ClientWarning("input", "reasoning", details))
    return lost


def _unsigned(pieces: Sequence[Piece]) -> int:
    """How many thoughts stand without the state that would vouch for them."""
    followers = [*pieces[1:], None]
    return sum(
        isinstance(piece, PastThought) and not isinstance(follower, ProviderState)
        for piece, follower in zip(pieces, followers, strict=True)
    )
