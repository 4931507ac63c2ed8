"""Translates `text.format` into the format that the model's server enforces, or into an instruction."""

from collections.abc import Sequence
from typing import Final, NamedTuple, assert_never

import msgspec

from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import ConfigurationUpdateItem, InputItem
from ..protocol.request.text_format import JsonObjectFormat, JsonSchemaFormat, PlainFormat, TextFormat
from ..protocol.warnings import ClientWarning
from ..providers.capabilities import Capabilities
from .nouns import Entry, JsonObject, JsonSchema, OutputFormat, System, Text, User

_JSON_ONLY: Final = "Answer with one JSON object and nothing else: no words before or after it, no code fence."
_BY_SCHEMA: Final = "It must be valid by this JSON schema"
_AFTER_CALLS: Final = "This is about your final answer; calls of tools are made as usual."


class FormatRequest(NamedTuple):
    """The format that the model's server enforces, and the instruction instead of it or in addition."""

    enforced: OutputFormat | None = None
    instruction: str | None = None
    warnings: tuple[ClientWarning, ...] = ()


def asked_format(request: CreateResponse) -> TextFormat:
    """The format that the client asks for. An update in the input applies until the next one."""
    return last_format(request.items) or request.text.format


def last_format(items: Sequence[InputItem]) -> TextFormat | None:
    """The format of the last update among these items; None if there is none."""
    if not items:
        return None
    updates = (item.text for item in reversed(items) if isinstance(item, ConfigurationUpdateItem))
    formats = (update.format for update in updates if update is not None)
    return next((form for form in formats if form is not None), None)


def read_format(form: TextFormat, can: Capabilities, *, tools: bool) -> FormatRequest:
    """How to get an answer in this format. The same format always gives the same text, so that prompt caches hit."""
    enforceable = can.formats(beside_tools=tools)
    match form:
        case PlainFormat():
            return FormatRequest()
        case JsonObjectFormat():
            if enforceable is None or form.type in enforceable:
                return FormatRequest(JsonObject())
            return FormatRequest(None, schema_instruction(None, tools=tools), _unenforced(form, tools=tools))
        case JsonSchemaFormat():
            schema = JsonSchema(form.name, form.schema_, form.description, form.strict)
            if enforceable is None or form.type in enforceable:
                return FormatRequest(schema)
            weaker = JsonObject() if "json_object" in enforceable else None
            return FormatRequest(weaker, schema_instruction(schema, tools=tools), _unenforced(form, tools=tools))
        case _:
            assert_never(form)


def instructed(entries: list[Entry], instruction: str | None, *, as_user: bool) -> list[Entry]:
    """The same entries with the instruction at the end of the first system entry, or before them all.

    At the start, its position does not change while a conversation grows. `as_user`: for models without system
    messages.
    """
    if instruction is None:
        return entries
    first, *others = entries
    if isinstance(first, System):
        return [System(f"{first.text}\n\n{instruction}"), *others]
    return [User((Text(instruction),)) if as_user else System(instruction), *entries]


def _unenforced(form: TextFormat, *, tools: bool) -> tuple[ClientWarning]:
    reason = "its server does not enforce it in a request with tools" if tools else "its server does not enforce it"
    details = f"'text.format: {form.type}' is sent to the model as an instruction: {reason}."
    return (ClientWarning("text.format", form.type, details),)


def schema_instruction(schema: JsonSchema | None, *, tools: bool) -> str:
    """What the model is told of a format that no server enforces. Without a schema, any JSON object is valid."""
    lines = [_JSON_ONLY]
    if schema is not None:
        title = f", named '{schema.name}'" + (f" ({schema.description})" if schema.description else "")
        lines.append(f"{_BY_SCHEMA}{title}:\n{msgspec.json.encode(schema.schema).decode()}")
    if tools:
        lines.append(_AFTER_CALLS)
    return "\n".join(lines)
