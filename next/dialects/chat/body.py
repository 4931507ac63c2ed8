"""Prompt -> the body of a request for chat completions."""

from ...prompt.history import EMPTY_OUTPUT
from ...prompt.nouns import (
    Assistant,
    AssistantMessage,
    Call,
    Entry,
    Model,
    OutputFormat,
    PastThought,
    Prompt,
    ProviderState,
    System,
    ToolOutput,
    User,
    text_of,
)
from ...types.json import Json
from ...types.problems import Warning


def body(prompt: Prompt, model: Model) -> tuple[Json, list[Warning]]:
    """The body for this prompt, and a warning for what this API cannot be told."""
    give_back = model.settings.give_back_reasoning
    messages = [_message(entry, give_back=give_back) for entry in prompt.entries]
    asked: Json = {"model": model.upstream_name, "messages": messages, **_tools(prompt), **prompt.sampling}
    if prompt.verbosity is not None:
        asked["verbosity"] = prompt.verbosity
    if prompt.effort is not None:
        asked["reasoning_effort"] = prompt.effort
    if prompt.output is not None:
        asked["response_format"] = _format(prompt.output)
    field = model.upstream.max_tokens_field
    if field != "max_tokens" and "max_tokens" in asked:
        asked = {field if name == "max_tokens" else name: value for name, value in asked.items()}
    return {**asked, **prompt.hints, "stream": True, "stream_options": {"include_usage": True}}, []


def _message(entry: Entry, *, give_back: bool) -> Json:
    match entry:
        case System():
            return {"role": "system", "content": entry.text}
        case User():
            return {"role": "user", "content": text_of(entry.parts)}
        case Assistant():
            return _assistant(entry, give_back=give_back)
        case ToolOutput():
            return {"role": "tool", "tool_call_id": entry.call_id, "content": text_of(entry.parts) or EMPTY_OUTPUT}


def _assistant(entry: Assistant, *, give_back: bool) -> Json:
    """One message, with its text, reasoning and calls each in a field of its own."""
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[Json] = []
    for piece in entry.pieces:
        match piece:
            case AssistantMessage():
                texts.append(text_of(piece.parts))
            case PastThought():
                reasoning.append(piece.text)
            case ProviderState():
                pass
            case Call():
                function = {"name": piece.name, "arguments": piece.arguments}
                calls.append({"id": piece.id, "type": "function", "function": function})
    message: Json = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if give_back and reasoning:
        message["reasoning_content"] = "\n\n".join(reasoning)
    if calls:
        message["tool_calls"] = calls
    return message


def _tools(prompt: Prompt) -> Json:
    """All fields about tools; none without tools: servers refuse an empty list, and a choice without tools."""
    if not prompt.functions:
        return {}
    tools: Json = {"tools": []}
    for spec in prompt.functions:
        function: Json = {"name": spec.name}
        if spec.description:
            function["description"] = spec.description
        function["parameters"] = spec.parameters or {"type": "object", "properties": {}}
        if spec.strict is not None:
            function["strict"] = spec.strict
        tools["tools"].append({"type": "function", "function": function})
    if prompt.choice.name is not None:
        tools["tool_choice"] = {"type": "function", "function": {"name": prompt.choice.name}}
    elif prompt.choice.mode != "auto":  # `auto` is the default of servers
        tools["tool_choice"] = prompt.choice.mode
    if prompt.parallel_calls is not None:
        tools["parallel_tool_calls"] = prompt.parallel_calls
    return tools


def _format(output: OutputFormat) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    schema: Json = {"name": output.name, "schema": output.schema}
    if output.description is not None:
        schema["description"] = output.description
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}
