"""`text.format` -> `response_format`, or an instruction where the model's server holds no answer to such a format."""

from typing import Any, Final, NamedTuple, assert_never

import msgspec

from app.dialects.chat.messages import ChatMessage
from app.protocol.capabilities import Capabilities
from app.protocol.request.text_format import JsonObjectFormat, JsonSchemaFormat, PlainFormat, TextFormat
from app.protocol.warnings import ClientWarning

_JSON_ONLY: Final = "Answer with one JSON object and nothing else: no words before or after it, no code fence."
_BY_SCHEMA: Final = "It must be valid by this JSON schema"
_AFTER_CALLS: Final = "This is about your final answer; calls of tools are made as usual."


class ChatFormat(NamedTuple):
    """What is asked for, and what the model is told in words instead of, or beside, it."""

    response_format: dict[str, Any] | None = None
    instruction: str | None = None
    warnings: tuple[ClientWarning, ...] = ()


def to_format(form: TextFormat, can: Capabilities, *, tools: bool) -> ChatFormat:
    """How to get an answer in this format. The same words for the same format, so that prompt caches hit."""
    held_to = can.formats(beside_tools=tools)
    match form:
        case PlainFormat():
            return ChatFormat()
        case JsonObjectFormat():
            if held_to is None or form.type in held_to:
                return ChatFormat({"type": "json_object"})
            return ChatFormat(None, _instruction(None, tools=tools), _unenforced(form, tools=tools))
        case JsonSchemaFormat():
            if held_to is None or form.type in held_to:
                return ChatFormat({"type": "json_schema", "json_schema": _named(form)})
            weaker = {"type": "json_object"} if "json_object" in held_to else None
            return ChatFormat(weaker, _instruction(form, tools=tools), _unenforced(form, tools=tools))
        case _:
            assert_never(form)


def instructed(messages: list[ChatMessage], instruction: str | None, *, as_user: bool) -> list[ChatMessage]:
    """The same messages with the instruction at the end of the first system message, or before them all.

    At the head it stays where it is while a conversation grows. `as_user`: the model knows no system messages.
    """
    if instruction is None:
        return messages
    first, *others = messages
    if first["role"] == "system" and isinstance(first["content"], str):
        return [{**first, "content": f"{first['content']}\n\n{instruction}"}, *others]
    return [{"role": "user" if as_user else "system", "content": instruction}, *messages]


def _named(form: JsonSchemaFormat) -> dict[str, Any]:
    named: dict[str, Any] = {"name": form.name, "schema": form.schema_}
    if form.description is not None:
        named["description"] = form.description
    if form.strict is not None:
        named["strict"] = form.strict
    return named


def _unenforced(form: TextFormat, *, tools: bool) -> tuple[ClientWarning]:
    reason = "its server does not enforce it beside tools" if tools else "its server does not enforce it"
    details = f"'text.format: {form.type}' is told to the model as an instruction: {reason}."
    return (ClientWarning("text.format", form.type, details),)


def _instruction(schema: JsonSchemaFormat | None, *, tools: bool) -> str:
    words = [_JSON_ONLY]
    if schema is not None:
        about = f", named '{schema.name}'" + (f" ({schema.description})" if schema.description else "")
        words.append(f"{_BY_SCHEMA}{about}:\n{msgspec.json.encode(schema.schema_).decode()}")
    if tools:
        words.append(_AFTER_CALLS)
    return "\n".join(words)
