"""JSON -> `Request`, or the first fault with its exact path; what is refused, and what has no effect."""

import re
from typing import Any, Final, TypeVar

import msgspec

from .problems import ProblemError, Warning, refuse
from .request import (
    ITEMS,
    PARTS,
    AllowedTools,
    ChosenTool,
    FunctionTool,
    Item,
    JsonObjectFormat,
    JsonSchemaFormat,
    OtherTool,
    ReasoningConfig,
    Request,
    TextConfig,
    Tool,
)

_STEERING: Final = frozenset(
    {
        "api_base", "api_key", "base_url", "custom_llm_provider", "extra_body", "extra_headers", "fallbacks",
        "headers", "mock_response", "model_list", "num_retries", "timeout",
    }
)  # fmt: skip
_STEERING_PREFIXES: Final = ("litellm_", "aws_")
"""Keys that would steer the libraries behind this server, for instance send its own key to another address."""
_SEND_HISTORY: Final = (
    "This server is stateless and keeps nothing between requests: send the whole history in 'input' instead, "
    "the items of earlier outputs included."
)
_STATEFUL: Final = {
    "previous_response_id": f"'previous_response_id' is not supported. {_SEND_HISTORY}",
    "conversation": f"'conversation' is not supported. {_SEND_HISTORY}",
    "prompt": (
        "'prompt' is not supported. This server is stateless and stores no prompt templates: "
        "send their text as 'instructions' and 'input' instead."
    ),
}
_BACKGROUND: Final = (
    "'background: true' is not supported. This server is stateless and could not hand the response out later: "
    "leave it out, and use 'stream: true' for long answers."
)
_REFERENCE: Final = (
    "refers to an item stored by an earlier response. This server is stateless and stores nothing: "
    "send the items themselves in 'input', and set `store: false` so that your client keeps them."
)
_QUIET: Final = frozenset({"background", "client_metadata", "input", "stream_options"})
"""Parameters without an effect that no client misses. Codex sends `client_metadata` for the logs of its own servers."""
_KNOWN: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Request)) - {"offers", "choice"}
_MEMBERS: Final = {
    "reasoning": frozenset(field.encode_name for field in msgspec.structs.fields(ReasoningConfig)),
    "text": frozenset(field.encode_name for field in msgspec.structs.fields(TextConfig)),
}
_MOST_NAMED: Final = 50
"""Unknown parameters that are named in warnings. One more warning counts the rest."""
_SHOWN: Final = 64
"""At most so many characters of a client's own name for a thing are repeated."""


def refuse_unsupported(posted: dict[str, Any]) -> None:
    """Refuses parameters that no client may set, or that need stored state. The message names the alternative."""
    for key in posted:
        if key in _STEERING or key.startswith(_STEERING_PREFIXES):
            raise refuse("unknown_parameter", f"Unknown parameter: '{key[:_SHOWN]}'.", key[:_SHOWN])
    for key, message in _STATEFUL.items():
        if posted.get(key) is not None:
            raise refuse("unsupported_parameter", message, key)
    if posted.get("background") is True:
        raise refuse("unsupported_parameter", _BACKGROUND, "background")


def unknown_parameters(posted: dict[str, Any]) -> list[Warning]:
    """A warning for each parameter that has no effect, where the client could expect one."""
    unknown = [key for key in posted if key not in _KNOWN and key not in _QUIET]
    for name, known in _MEMBERS.items():
        if isinstance(group := posted.get(name), dict):
            unknown += [f"{name}.{key}" for key, value in group.items() if key not in known and value is not None]
    named = [key[:_SHOWN] for key in unknown[:_MOST_NAMED]]
    warnings = [Warning(key, "unknown parameter", f"'{key}' has no effect on this server.") for key in named]
    if len(unknown) > _MOST_NAMED:
        details = f"{len(unknown) - _MOST_NAMED} other parameters have no effect on this server either."
        warnings.append(Warning("", "unknown parameter", details))
    return warnings


Json = dict[str, Any]
_Shape = TypeVar("_Shape", bound=msgspec.Struct)

MOST_ITEMS: Final = 16_384
MOST_TOOLS: Final = 1_024
_MOST_VALUES: Final = 1_000_000
"""JSON values of a body, counted by the signs that begin one, also in strings."""
_CHAT: Final = (
    "This is the body of a chat completion: it has 'messages', and no 'input'. In the Responses API the conversation "
    "is 'input': a text, or a list of messages."
)
_FAULT: Final = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_EXPECTED: Final = re.compile(r"Expected `(?P<types>[^`]+)`, got `(?P<got>\w+)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_NAMES: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def decode(body: bytes) -> Json:
    """The JSON object in a body, which holds no more values than a machine can bear."""
    if body.count(b",") + body.count(b"{") + body.count(b"[") > _MOST_VALUES:
        raise refuse("invalid_json", f"The body holds more than {_MOST_VALUES} JSON values.")
    try:
        raw = msgspec.json.decode(body)
    except RecursionError:
        raise refuse("invalid_json", "The body is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refuse("invalid_json", f"The body is not valid JSON: {error}.") from None
    if not isinstance(raw, dict):
        raise refuse("invalid_json", f"The body must be a JSON object, not {_name(raw)}.")
    return raw


def parse(raw: Json) -> tuple[Request, list[Warning]]:
    """The request in this object, and a warning for each parameter without an effect."""
    refuse_unsupported(raw)
    posted = {key: value for key, value in raw.items() if value is not None}
    if "messages" in posted and "input" not in posted:
        raise refuse("missing_required_parameter", _CHAT, "input")
    for name in ("model", "input"):
        if posted.get(name, "" if name == "model" else None) in ("", None) and (name == "model" or name not in posted):
            raise _missing(name)
    parsed = {key: value for key, value in posted.items() if key in _KNOWN} | {"input": _input(posted["input"])}
    if "tools" in posted:
        parsed["offers"] = _tools(posted["tools"], "tools")
    if "tool_choice" in posted:
        parsed["choice"] = _choice(posted["tool_choice"])
    if "text" in posted:
        parsed["text"] = _text(posted["text"])
    return shaped(Request, parsed, ""), unknown_parameters(posted)


def shaped(shape: type[_Shape], raw: Json, path: str) -> _Shape:
    """The object of this shape. Refuses the first fault, by its exact path."""
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        raise _fault(str(error), raw, path) from None


def _input(raw: Any) -> str | tuple[Item, ...]:
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        raise _wrong_type("input", "a string or an array of items", raw)
    if len(raw) > MOST_ITEMS:
        message = f"Invalid value for 'input': it has {len(raw)} items, and at most {MOST_ITEMS} are allowed."
        raise refuse("invalid_value", message, "input")
    return tuple([_item(item, f"input[{index}]") for index, item in enumerate(raw)])


def _item(raw: Any, path: str) -> Item:
    """One item, by its `type`. Without one it is a message, or a reference, of which OpenAI's types allow it."""
    item = _object(raw, path)
    kind = item.get("type")
    if kind is None:
        kind = "message" if "role" in item or "content" in item or item.get("id") is None else "item_reference"
    if not isinstance(kind, str):
        raise _wrong_type(f"{path}.type", "a string", kind)
    if kind == "item_reference":
        raise refuse("unsupported_parameter", f"'{path}' {_REFERENCE}", path)
    shape = ITEMS.get(kind)
    if shape is None:
        message = f"'{path}.type' is '{kind[:_SHOWN]}', which this server cannot send to the model."
        raise refuse("invalid_value", message, f"{path}.type")
    for name in ("content", "output"):
        if kind != "reasoning" and name in shape.__struct_fields__:
            if item.get(name) is None:
                raise _missing(f"{path}.{name}")
            item = {**item, name: _content(item[name], f"{path}.{name}")}
    return shaped(shape, item, path)


def _content(raw: Any, path: str) -> Any:
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        raise _wrong_type(path, "a string or an array of content parts", raw)
    return tuple([_part(part, f"{path}[{index}]") for index, part in enumerate(raw)])


def _part(raw: Any, path: str) -> Any:
    part, kind = _typed(raw, path)
    shape = PARTS.get(kind)
    if shape is None:
        message = f"'{path}.type' is '{kind[:_SHOWN]}', which this server cannot send to the model."
        raise refuse("invalid_value", message, f"{path}.type")
    return shaped(shape, part, path)


def _tools(raw: Any, path: str) -> tuple[Tool, ...]:
    if not isinstance(raw, list):
        raise _wrong_type(path, "an array", raw)
    if len(raw) > MOST_TOOLS:
        message = f"Invalid value for '{path}': there are {len(raw)}, and at most {MOST_TOOLS} are allowed."
        raise refuse("invalid_value", message, path)
    return tuple([_tool(tool, f"{path}[{index}]") for index, tool in enumerate(raw)])


def _tool(raw: Any, path: str) -> Tool:
    tool, kind = _typed(raw, path)
    return shaped(FunctionTool, tool, path) if kind == "function" else shaped(OtherTool, tool, path)


def _choice(raw: Any) -> Any:
    path = "tool_choice"
    if raw in ("auto", "none", "required"):
        return raw
    if isinstance(raw, str):
        message = f"Invalid value for '{path}': expected 'auto', 'none', 'required' or an object."
        raise refuse("invalid_value", message, path)
    if not isinstance(raw, dict):
        raise _wrong_type(path, "a string or an object", raw)
    choice, kind = _typed(raw, path)
    if kind != "allowed_tools":
        return _chosen(choice, path)
    if choice.get("tools") is None:
        raise _missing(f"{path}.tools")
    if not isinstance(choice["tools"], list):
        raise _wrong_type(f"{path}.tools", "an array", choice["tools"])
    tools = tuple([_chosen(tool, f"{path}.tools[{index}]") for index, tool in enumerate(choice["tools"])])
    return shaped(AllowedTools, {**choice, "tools": tools}, path)


def _chosen(raw: Any, path: str) -> ChosenTool:
    tool, kind = _typed(raw, path)
    if kind == "function" and tool.get("name") is None:
        raise _missing(f"{path}.name")
    return shaped(ChosenTool, tool, path)


def _text(raw: Any) -> TextConfig:
    text = {key: value for key, value in _object(raw, "text").items() if value is not None}
    if "format" in text:
        form, kind = _typed(text["format"], "text.format")
        if kind not in ("text", "json_object", "json_schema"):
            message = "Invalid value for 'text.format.type': expected one of 'text', 'json_object', 'json_schema'."
            raise refuse("invalid_value", message, "text.format.type")
        shapes: dict[str, type[msgspec.Struct]] = {"json_object": JsonObjectFormat, "json_schema": JsonSchemaFormat}
        text["format"] = None if kind == "text" else shaped(shapes[kind], form, "text.format")
    return shaped(TextConfig, text, "text")


def _object(raw: Any, path: str) -> Json:
    if isinstance(raw, dict):
        return raw
    raise _wrong_type(path, "an object", raw)


def _typed(raw: Any, path: str) -> tuple[Json, str]:
    """The value, which must be a JSON object, and its `type`, which it must have."""
    held = _object(raw, path)
    kind = held.get("type")
    if isinstance(kind, str):
        return held, kind
    raise _missing(f"{path}.type") if kind is None else _wrong_type(f"{path}.type", "a string", kind)


def _name(raw: Any) -> str:
    kinds = {dict: "object", list: "array", type(None): "null"}
    return _NAMES[kinds.get(type(raw), type(raw).__name__)]


def _wrong_type(path: str, expected: str, got: Any) -> ProblemError:
    message = f"Invalid type for '{path}': expected {expected}, but got {_name(got)}."
    return refuse("invalid_type", message, path)


def _missing(path: str) -> ProblemError:
    return refuse("missing_required_parameter", f"Missing required parameter: '{path}'.", path)


def _fault(message: str, raw: Any, path: str) -> ProblemError:
    """The refusal for what msgspec says of this value."""
    found = _FAULT.fullmatch(message)
    assert found is not None  # noqa: S101 — the pattern matches any text
    what, inner = found["what"], found["path"] or ""
    path = f"{path}{inner}".removeprefix(".")
    if missing := _MISSING.fullmatch(what):
        return _missing(f"{path}.{missing['name']}".removeprefix("."))
    if expected := _EXPECTED.fullmatch(what):
        types = [_NAMES.get(name, name) for name in expected["types"].split(" | ") if name != "null"]
        got = _NAMES.get(expected["got"], expected["got"])
        text = f"Invalid type for '{path}': expected {' or '.join(types)}, but got {got}."
        return refuse("invalid_type", text, path)
    return refuse("invalid_value", f"Invalid value for '{path}': {what[0].lower()}{what[1:]}.", path)
