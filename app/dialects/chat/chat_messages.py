"""Converts the entries of a prompt to chat messages."""

from collections.abc import Iterable
from typing import Any

from ...prompt.history import EMPTY_OUTPUT, OUTPUT_BELOW
from ...prompt.nouns import (
    Assistant,
    AssistantMessage,
    Audio,
    Call,
    Entry,
    File,
    Image,
    Part,
    Parts,
    PastThought,
    ProviderState,
    System,
    Text,
    ToolOutput,
    User,
    media_of,
    text_of,
)
from ...prompt.sealed_state import merged
from ..cached_ends import MARKED

Json = dict[str, Any]
ChatMessage = dict[str, Any]


def to_messages(entries: Iterable[Entry], *, give_back_reasoning: bool, keep_marks: bool = False) -> list[ChatMessage]:
    """The chat messages for these entries.

    `keep_marks`: parts stay apart, and those that the client marked for the cache, and whole outputs, are `MARKED`.

    A `tool` message can hold only text: images, files and audio of outputs are sent in a user message after the last
    output of an assistant's calls.
    """
    messages: list[ChatMessage] = []
    media: list[Json] = []
    for entry in entries:
        if media and not isinstance(entry, ToolOutput):
            messages.append({"role": "user", "content": media})
            media = []
        match entry:
            case System():
                messages.append({"role": "system", "content": entry.text})
            case User():
                messages.append({"role": "user", "content": _content(entry.parts, keep_marks=keep_marks)})
            case Assistant():
                messages.append(_assistant(entry, give_back_reasoning=give_back_reasoning))
            case ToolOutput():
                messages.append(_output(entry, keep_marks=keep_marks))
                if in_output := media_of(entry.parts):
                    title = f"From the output of the call '{entry.call_id}':"
                    media += [{"type": "text", "text": title}, *map(_part, in_output)]
    return [*messages, {"role": "user", "content": media}] if media else messages


def _content(parts: Parts, *, keep_marks: bool) -> str | list[Json]:
    """Text alone is a string: some servers read nothing else."""
    if keep_marks and (len(parts) > 1 or any(part.ends_cached for part in parts)):
        return [{**_part(part), MARKED: True} if part.ends_cached else _part(part) for part in parts]
    return [_part(part) for part in parts] if media_of(parts) else text_of(parts)


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            image = {"url": part.url}
            if part.detail in {"low", "high"}:
                image["detail"] = part.detail
            if part.detail == "original":  # Codex sends it; chat servers know nothing finer than `high`
                image["detail"] = "high"
            return {"type": "image_url", "image_url": image}
        case File():
            return {"type": "file", "file": {"filename": part.name, "file_data": part.url}}
        case Audio():
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}


def _assistant(entry: Assistant, *, give_back_reasoning: bool) -> ChatMessage:
    """One message, with its text, reasoning and calls each in a field of its own."""
    texts: list[str] = []
    reasoning: list[str] = []
    states: list[Json] = []
    calls: list[Json] = []
    for piece in entry.pieces:
        match piece:
            case AssistantMessage():
                texts.append("\n".join([part.text for part in piece.parts]))
            case PastThought():
                reasoning += ["\n\n", piece.text] if reasoning and not piece.continued else [piece.text]
            case ProviderState():
                states.append(piece.fields)
            case Call():
                function = {"name": piece.name, "arguments": piece.arguments}
                calls.append({"id": piece.id, "type": "function", "function": function, **piece.state})
    message: ChatMessage = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if give_back_reasoning and reasoning:
        message["reasoning_content"] = "".join(reasoning)
    if give_back_reasoning:
        message |= merged(states)
    if calls:
        message["tool_calls"] = calls
    return message


def _output(entry: ToolOutput, *, keep_marks: bool) -> ChatMessage:
    content = text_of(entry.parts) or (OUTPUT_BELOW if entry.parts else EMPTY_OUTPUT)
    message: ChatMessage = {"role": "tool", "tool_call_id": entry.call_id, "content": content}
    if keep_marks and any(part.ends_cached for part in entry.parts):
        message[MARKED] = True
    return message
