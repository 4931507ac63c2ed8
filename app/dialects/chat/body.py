"""Prompt -> the body of a request for chat completions."""

from itertools import takewhile

from msgspec import structs

from ...prompt.build import without_effect
from ...prompt.history import output_text
from ...prompt.nouns import (
    Assistant,
    AssistantMessage,
    Audio,
    Call,
    Entry,
    File,
    Image,
    Model,
    OutputFormat,
    Part,
    Parts,
    PastThought,
    Prompt,
    ProviderState,
    System,
    Text,
    ToolOutput,
    User,
    WebSearch,
    media_of,
    text_of,
)
from ...prompt.state import merged
from ...types.json import Json, given
from ...types.problems import Warnings
from ..cache_marks import MARKED, End, cache_mark, ends_to_mark, unmarked

_BLANK = " "
"""The shortest reasoning that DeepSeek accepts."""


def body(prompt: Prompt, model: Model) -> tuple[Json, Warnings]:
    """The body for this prompt, and a warning for what this API cannot be told."""
    warnings = Warnings()
    upstream = model.upstream
    mark = cache_mark(model, prompt.caching, by_default=model.marks_cache and "claude" in model.upstream_name)
    messages = _messages(prompt.entries, model, keep_marks=mark is not None)
    alternates = model.settings.alternating_roles
    if alternates or (alternates is None and "gemma" in model.upstream_name.lower()):  # its templates require it
        messages = _alternating(messages, warnings)
    tools = _tools(prompt, strict=upstream.strict_tools)
    if mark is not None:
        automatic = not prompt.caching.only_marked
        _mark_to_cache(tools.get("tools", []), messages, mark, automatic=automatic, in_full=model.marks_cache)
    warnings += unmarked(prompt, mark)
    if upstream.system_role != "system":
        messages = [{**each, "role": upstream.system_role} if each["role"] == "system" else each for each in messages]
    names = {"max_tokens": upstream.max_tokens_field}
    asked = {
        "model": model.upstream_name,
        "messages": messages,
        **tools,
        "web_search_options": _web_search(prompt.web_search, warnings) if prompt.web_search else None,
        "modalities": ["image", "text"] if model.settings.image_output else None,
        **{names.get(name, name): value for name, value in prompt.sampling.items()},
        "verbosity": prompt.verbosity,
        "reasoning_effort": prompt.effort,
        "response_format": _format(prompt.output) if prompt.output else None,
        **prompt.hints,
        "stream": True,
        "stream_options": {"include_usage": True} if model.provider.stream_options else None,
    }
    return given(asked), warnings


def _tools(prompt: Prompt, *, strict: bool) -> Json:
    """All fields about tools; none without tools: servers refuse an empty list, and a choice without tools.

    Without `strict` it is sent with none of them, for servers that refuse unknown keys.
    """
    if not prompt.functions:
        return {}
    tools: Json = {"tools": []}
    for spec in prompt.functions:
        function = {
            "name": spec.name,
            "description": spec.description or None,
            "parameters": spec.parameters or {"type": "object", "properties": {}},
            "strict": spec.strict if strict else None,
        }
        tools["tools"].append({"type": "function", "function": given(function)})
    if prompt.choice.name is not None:
        tools["tool_choice"] = {"type": "function", "function": {"name": prompt.choice.name}}
    elif prompt.choice.mode != "auto":  # `auto` is the default of servers
        tools["tool_choice"] = prompt.choice.mode
    if prompt.parallel_calls is not None:
        tools["parallel_tool_calls"] = prompt.parallel_calls
    return tools


def _web_search(search: WebSearch, warnings: Warnings) -> Json:
    """The options of the search. Other settings do not exist in this API."""
    unknown = {
        "filters.allowed_domains": search.domains,
        "filters.blocked_domains": search.blocked,
        "max_tool_calls": search.most,
    }
    warnings += [without_effect(name) for name, value in unknown.items() if value]
    location = None if search.location is None else {"type": "approximate", "approximate": search.location}
    return given({"search_context_size": search.context_size, "user_location": location})


def _format(output: OutputFormat) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": given(structs.asdict(output))}


def _messages(entries: tuple[Entry, ...], model: Model, *, keep_marks: bool) -> list[Json]:
    """The chat messages for these entries.

    `keep_marks`: parts stay apart, and those that the client marked for the cache, and whole outputs, are `MARKED`.

    A `tool` message can hold only text: images, files and audio of outputs are sent in a user message after the last
    output of an assistant's calls.
    """
    messages: list[Json] = []
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
                messages.append(_assistant(entry, model))
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
            if part.detail in {"low", "high", "original"}:  # `original` is Codex's: nothing finer than `high` is known
                image["detail"] = "low" if part.detail == "low" else "high"
            return {"type": "image_url", "image_url": image}
        case File():
            return {"type": "file", "file": {"filename": part.name, "file_data": part.url}}
        case Audio():
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}


def _assistant(entry: Assistant, model: Model) -> Json:
    """One message, with its text, reasoning and calls each in a field of its own."""
    texts: list[str] = []
    thoughts: list[str] = []
    states: list[Json] = []
    calls: list[Json] = []
    for piece in entry.pieces:
        match piece:
            case AssistantMessage():
                texts.append(text_of(piece.parts))
            case PastThought():
                thoughts += ["\n\n", piece.text] if thoughts and not piece.continued else [piece.text]
            case ProviderState():
                states.append(piece.fields)
            case Call():
                function = {"name": piece.name, "arguments": piece.arguments}
                calls.append({"id": piece.id, "type": "function", "function": function, **piece.state})
    message: Json = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if model.settings.give_back_reasoning:
        message |= merged(states)
    else:
        thoughts = []
    reasoning, field = "".join(thoughts), model.upstream.reasoning_field
    if not reasoning and model.provider.blank_reasoning:
        reasoning = _BLANK
    if reasoning and field != "none":
        message[field] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _output(entry: ToolOutput, *, keep_marks: bool) -> Json:
    message: Json = {"role": "tool", "tool_call_id": entry.call_id, "content": output_text(entry.parts)}
    if keep_marks and any(part.ends_cached for part in entry.parts):
        message[MARKED] = True
    return message


def _alternating(messages: list[Json], warnings: Warnings) -> list[Json]:
    """The messages with at most one system message, at the beginning, and no two user messages in a row.

    Later system messages are sent as user messages, with a warning.
    """
    head = len(list(takewhile(lambda message: message["role"] == "system", messages)))
    if late := sum(message["role"] == "system" for message in messages[head:]):
        reason = "this model takes system messages at the beginning only"
        warnings.append(f"System messages after the beginning are sent as user messages ({late}): {reason}.")
    joined: list[Json] = []
    for at, message in enumerate(messages):
        role = "user" if at >= head and message["role"] == "system" else message["role"]
        if joined and joined[-1]["role"] == role and role in {"system", "user"}:
            joined[-1] = {"role": role, "content": _joined(joined[-1]["content"], message["content"])}
        else:
            joined.append({**message, "role": role})
    return joined


def _joined(one: str | list[Json], other: str | list[Json]) -> str | list[Json]:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


_TOOLS = -1
"""The number of the tools, in place of that of a message."""
_OF_USER = frozenset({"user", "tool"})
"""Roles of the messages that Claude gets as messages of the user, those in a row as one."""


def _mark_to_cache(tools: list[Json], messages: list[Json], mark: Json, *, automatic: bool, in_full: bool) -> None:
    """Put the mark where it is needed. `automatic`: not only where the client did.

    `in_full`: tools and whole outputs of calls can be marked, too. Other servers look for marks at parts of messages.
    """
    of_client = [(row, at) for row, message in enumerate(messages) for at in _marked_by_client(message)]
    head = len(list(takewhile(lambda message: message["role"] == "system", messages)))
    first = [_end(messages, head - 1)] if head else []
    if tools and in_full:
        first.append((_TOOLS, len(tools) - 1))
    for row, at in ends_to_mark(of_client, _turns_of_user(messages), first, automatic=automatic):
        message = tools[at] if row == _TOOLS else messages[row]
        if row == _TOOLS or (in_full and message["role"] == "tool"):
            message[MARKED] = dict(mark)
            continue
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][at][MARKED] = dict(mark)


def _marked_by_client(message: Json) -> list[int]:
    """Which parts of a message the client marked. These notes are taken off."""
    if message.pop(MARKED, False):
        return [0]
    parts = message["content"] if isinstance(message["content"], list) else []
    return [at for at, part in enumerate(parts) if part.pop(MARKED, False)]


def _turns_of_user(messages: list[Json]) -> list[End]:
    """The ends of the user's turns: of messages of the user and outputs of calls, with nothing of the model between."""
    rows = [row for row, message in enumerate(messages) if message["role"] != "system"]
    after = [messages[row]["role"] for row in rows[1:]] + ["assistant"]
    return [
        _end(messages, row)
        for row, then in zip(rows, after, strict=False)  # there may be system messages alone
        if messages[row]["role"] in _OF_USER and then not in _OF_USER and not _is_blank(messages[row])
    ]


def _is_blank(message: Json) -> bool:
    """Whether this is nothing but white space, which Claude refuses: with a mark, it would not be seen."""
    content = message["content"]
    return isinstance(content, str) and not content.strip()


def _end(messages: list[Json], row: int) -> End:
    content = messages[row]["content"]
    return (row, len(content) - 1 if isinstance(content, list) else 0)
