"""Lists every member of a request by the types of the `openai` package, each in the smallest object that has it.

It runs in the environment of the conformance clients, whose `openai` is newer than the one that litellm allows:
`.cache/clients/bin/python tests/fields/openai_members.py`. It prints one JSON object for each member.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

Json = dict[str, Any]

PNG: Final = "data:image/png;base64,iVBORw0KGgo="
SCHEMA: Final = {"type": "object", "properties": {"a": {"type": "integer"}}}
VALUES: Final[Json] = {
    "allowed_callers": ["programmatic"],
    "arguments": '{"a":1}',
    "call_id": "call_1",
    "commands": ["ls"],
    "command": ["ls"],
    "content": "Words.",
    "container": "cntr_1",
    "data": "AAAA",
    "detail": "high",
    "effort": "low",
    "execution": "client",
    "encrypted_content": "gAAAAABpZm9yZWlnbnNlcnZlcnNvbmx5Zm9yZWlnbg==",
    "file_data": "data:application/pdf;base64,JVBERi0xLjcK",
    "file_url": "https://a.example/a.pdf",
    "filename": "a.pdf",
    "image_url": PNG,
    "metadata": {"a": "b"},
    "model": "m",
    "name": "f",
    "namespace": "n",
    "output_schema": SCHEMA,
    "parameters": SCHEMA,
    "result": "iVBORw0KGgo=",
    "schema": SCHEMA,
    "server_url": "https://mcp.example",
    "temperature": 0.5,
    "top_logprobs": 2,
    "top_p": 0.5,
    "ttl": "12h",
    "tools": [{"type": "function", "name": "g", "parameters": SCHEMA}],
    "type": "compaction",
    "url": "https://a.example",
    "variables": {"a": "b"},
}
"""Values of members that mean something; of any other the type decides."""
CHOSEN: Final[Json] = {
    "parameter:background": True,
    "parameter:parallel_tool_calls": False,
    "parameter:prompt_cache_options.mode": "explicit",
    "parameter:prompt_cache_options.ttl": "12h",
    "parameter:prompt_cache_retention": "24h",
    "parameter:reasoning.context": "current_turn",
    "parameter:reasoning.effort": "low",
    "parameter:reasoning.mode": "pro",
    "parameter:service_tier": "flex",
    "parameter:text.verbosity": "low",
    "parameter:truncation": "auto",
    "parameter:stream": True,
    "parameter:text.format": {"type": "json_object"},
    "parameter:tool_choice": "required",
    "item:configuration_update.text.format": {"type": "json_object"},
    "item:reasoning.content": [{"type": "reasoning_text", "text": "y"}],
    "part:input_image.detail": "low",
    "tool:custom.format": {"type": "grammar", "syntax": "regex", "definition": "x"},
    "tool:web_search.filters": {"allowed_domains": ["example.com"]},
    "tool:web_search_2025_08_26.filters": {"allowed_domains": ["example.com"]},
}
"""Values of single members where the first one of the type would change nothing."""
WHOLE: Final = frozenset(
    {
        "acknowledged_safety_checks",
        "actions",
        "agent",
        "allowed_tools",
        "annotations",
        "caller",
        "container",
        "content",
        "error",
        "filters",
        "input",
        "input_image_mask",
        "instructions",
        "logprobs",
        "network_policy",
        "output",
        "pending_safety_checks",
        "ranking_options",
        "require_approval",
        "results",
        "source",
        "sources",
        "svg",
        "svg_usage",
        "tool_choice",
        "tools",
        "variables",
    }
)
"""Members whose objects have rows of their own, or are sent whole."""


def _plain(kind: Any) -> Any:
    """The type without `Required` and `Annotated`."""
    while get_origin(kind) is Annotated or "Required" in str(get_origin(kind)):
        kind = get_args(kind)[0]
    return kind


def _is_dict(kind: Any) -> bool:
    return hasattr(kind, "__required_keys__")


def dicts(kind: Any) -> Iterator[Any]:
    """Every object type that a value of this type may be, or may hold in lists."""
    kind = _plain(kind)
    if _is_dict(kind):
        yield kind
    elif get_origin(kind) is not Literal:
        for inner in get_args(kind):
            yield from dicts(inner)


def _is_list(kind: Any) -> bool:
    kind = _plain(kind)
    return get_origin(kind) is list or "Iterable" in str(kind)[:40] or "Sequence" in str(kind)[:40]


def value_of(name: str, kind: Any) -> Any:  # noqa: PLR0911 — one for each kind of type
    """A value of this type."""
    kind = _plain(kind)
    if name in VALUES and not (name == "type" and get_origin(kind) is Literal):
        return VALUES[name]
    if _is_dict(kind):
        return smallest(kind)
    arms = [arm for arm in get_args(kind) if arm is not type(None)]
    if get_origin(kind) is Literal:
        return arms[0]
    if "Iterable" in str(get_origin(kind)) or get_origin(kind) is list or "SequenceNotStr" in str(kind)[:60]:
        return [value_of("", arms[0])] if arms else []
    if get_origin(kind) is dict:
        return {"a": "b"}
    if arms:
        return value_of(name, arms[0])
    simple: dict[Any, Any] = {str: "x", int: 1, float: 0.5, bool: True}
    return simple.get(kind, {})


def smallest(kind: Any) -> Json:
    """An object of this type with nothing but what it must have."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: value_of(name, hint) for name, hint in hints.items() if "Required" in str(get_origin(hint))}


def members(kind: Any, seen: tuple[Any, ...] = ()) -> Iterator[tuple[str, Json]]:
    """The path of each member, and the smallest object that has it."""
    for name, hint in get_type_hints(kind).items():
        if name == "type" and get_origin(_plain(hint)) is Literal:
            continue
        base = smallest(kind)
        yield name, {**base, name: value_of(name, hint)}
        for inner in () if name in WHOLE else dicts(hint):
            if inner not in seen:
                in_list = _is_list(hint) or any(_is_list(arm) and inner in dicts(arm) for arm in get_args(_plain(hint)))
                for path, held in members(inner, (*seen, inner)):
                    yield f"{name}.{path}", {**base, name: [held] if in_list else held}


def types_of(kind: Any) -> list[str]:
    """The values of `type` of this object."""
    hint = _plain(get_type_hints(kind).get("type", str))
    found = [hint, *get_args(hint)] if get_origin(hint) is not Literal else [hint]
    return [str(word) for each in found if get_origin(each) is Literal for word in get_args(each)]


def rows() -> Iterator[tuple[str, Any]]:
    """Every name, and its object."""
    create = import_module("openai.types.responses.response_create_params")
    for kind in dicts(create.ResponseCreateParams):
        for path, held in members(kind):
            if path != "include":
                yield f"parameter:{path}", held
    item = import_module("openai.types.responses.response_input_item_param")
    beta = import_module("openai.types.beta.beta_response_input_item_param")
    ours = [*dicts(item.ResponseInputItemParam), beta.AgentMessage, beta.MultiAgentCall, beta.MultiAgentCallOutput]
    yield from of_kinds("item", ours, "message")
    content = import_module("openai.types.responses.response_input_content_param")
    message = import_module("openai.types.responses.response_output_message_param")
    audio = import_module("openai.types.responses.response_input_audio_param")
    yield from of_kinds(
        "part", [*dicts(content.ResponseInputContentParam), *dicts(message.Content), audio.ResponseInputAudioParam]
    )
    yield from of_kinds("tool", dicts(import_module("openai.types.responses.tool_param").ToolParam))
    yield from of_kinds("tool_choice", dicts(create.ToolChoice))
    for word in get_args(import_module("openai.types.responses.response_includable").ResponseIncludable):
        yield f"include:{word}", word
    client = import_module("openai.types.responses.responses_client_event_param")
    injection = import_module("openai.types.beta.beta_response_inject_event_param")
    parameters = {path for kind in dicts(create.ResponseCreateParams) for path, _ in members(kind)}
    for kind in (*dicts(client.ResponsesClientEventParam), injection.BetaResponseInjectEventParam):
        (word,) = types_of(kind)
        yield f"frame:{word}", smallest(kind)
        for path, held in members(kind):
            if word != "response.create" or path not in parameters:
                yield f"frame:{word}.{path}", held


def of_kinds(what: str, kinds: Any, otherwise: str = "?") -> Iterator[tuple[str, Any]]:
    """The names of objects that differ by their `type`."""
    for kind in kinds:
        for word in types_of(kind) or [otherwise]:
            typed = {"type": word} if "type" in get_type_hints(kind) else {}
            yield f"{what}:{word}", {**smallest(kind), **typed}
            for path, held in members(kind):
                yield f"{what}:{word}.{path}", {**held, **typed}


def chosen(name: str, held: Any) -> Any:
    """The object, with the value that is chosen for this member."""
    if name.startswith("tool_choice:allowed_tools"):
        return {**held, "mode": "required"}
    if name not in CHOSEN:
        return held
    what, _, path = name.partition(":")
    *outer, last = path.split(".")[0 if what == "parameter" else 1 :]
    inner = held
    for key in outer:
        inner = inner[key]
    inner[last] = CHOSEN[name]
    return held


if __name__ == "__main__":
    found: dict[str, Any] = {}
    for each, sample in rows():
        found.setdefault(each, chosen(each, sample))
    sys.stdout.write("".join(json.dumps({"name": name, "sample": found[name]}) + "\n" for name in sorted(found)))
