"""JSON -> `Request`, or the first fault with its exact path."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from .json import Json
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
    Request,
    TextConfig,
    Tool,
)
from .unsupported import KNOWN, SHOWN, refuse_unsupported, unknown_parameters

_T = TypeVar("_T")

_MOST_ITEMS = 16_384
_MOST_TOOLS = 1_024
_LONGEST = 512
"""Characters of a value of `metadata`."""
_MOST_VALUES = 1_000_000
"""JSON values of a body, counted by the signs that begin one, also in strings."""
_CHAT = (
    "This is the body of a chat completion: it has 'messages', and no 'input'. In the Responses API the conversation "
    "is 'input': a text, or a list of messages."
)
_REFERENCE = (
    "refers to an item stored by an earlier response. This server is stateless and stores nothing: "
    "send the items themselves in 'input', and set `store: false` so that your client keeps them."
)
_FAULT = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<types>[^`]+)`, got `(?P<got>\w+)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_NAMES = {
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
    if posted.get("model", "") == "":
        raise _missing("model")
    if "input" not in posted:
        raise refuse("missing_required_parameter", _CHAT, "input") if "messages" in posted else _missing("input")
    parsed = {key: value for key, value in posted.items() if key in KNOWN} | {"input": _input(posted["input"])}
    if "tools" in posted:
        parsed["offers"] = _each(posted["tools"], "tools", _tool, most=_MOST_TOOLS)
    if "tool_choice" in posted:
        parsed["choice"] = _choice(posted["tool_choice"])
    if "text" in posted:
        parsed["text"] = _text(posted["text"])
    return shaped(Request, parsed, ""), unknown_parameters(posted)


def shaped(shape: type[_T], raw: Json, path: str) -> _T:
    """The object of this shape. Refuses the first fault, by its exact path."""
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        raise _fault(str(error), raw, path) from None


def _each(
    raw: Any, path: str, read: Callable[[Any, str], _T], most: int | None = None, expected: str = "an array"
) -> tuple[_T, ...]:
    if not isinstance(raw, list):
        raise _wrong_type(path, expected, raw)
    if most is not None and len(raw) > most:
        message = f"Invalid value for '{path}': there are {len(raw)}, and at most {most} are allowed."
        raise refuse("invalid_value", message, path)
    return tuple([read(entry, f"{path}[{index}]") for index, entry in enumerate(raw)])


def _input(raw: Any) -> str | tuple[Item, ...]:
    return raw if isinstance(raw, str) else _each(raw, "input", _item, _MOST_ITEMS, "a string or an array of items")


def _item(raw: Any, path: str) -> Item:
    """One item, by its `type`. Without one it is a message, or a reference, of which OpenAI's types allow it."""
    item = _object(raw, path)
    if item.get("type") is None:
        is_message = "role" in item or "content" in item or item.get("id") is None
        item = {**item, "type": "message" if is_message else "item_reference"}
    item, kind = _typed(item, path)
    if kind == "item_reference":
        raise refuse("unsupported_parameter", f"'{path}' {_REFERENCE}", path)
    shape = _known(ITEMS, kind, path)
    for name in ("content", "output"):
        if kind != "reasoning" and name in shape.__struct_fields__:
            if item.get(name) is None:
                raise _missing(f"{path}.{name}")
            item = {**item, name: _content(item[name], f"{path}.{name}")}
    return shaped(shape, item, path)


def _content(raw: Any, path: str) -> Any:
    return raw if isinstance(raw, str) else _each(raw, path, _part, expected="a string or an array of content parts")


def _part(raw: Any, path: str) -> Any:
    part, kind = _typed(raw, path)
    return shaped(_known(PARTS, kind, path), part, path)


def _known(shapes: Mapping[str, type[_T]], kind: str, path: str) -> type[_T]:
    if kind in shapes:
        return shapes[kind]
    message = f"'{path}.type' is '{kind[:SHOWN]}', which this server cannot send to the model."
    raise refuse("invalid_value", message, f"{path}.type")


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
    tools = _each(choice["tools"], f"{path}.tools", _chosen)
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
    if "[...]" in inner:  # the one map whose values have a shape
        wrong = (key for key, value in raw["metadata"].items() if not isinstance(value, str) or len(value) > _LONGEST)
        inner = inner.replace("[...]", f".{next(wrong, '')[:SHOWN]}")
    path = f"{path}{inner}".removeprefix(".")
    if missing := _MISSING.fullmatch(what):
        return _missing(f"{path}.{missing['name']}".removeprefix("."))
    if expected := _EXPECTED.fullmatch(what):
        types = [_NAMES.get(name, name) for name in expected["types"].split(" | ") if name != "null"]
        got = _NAMES.get(expected["got"], expected["got"])
        text = f"Invalid type for '{path}': expected {' or '.join(types)}, but got {got}."
        return refuse("invalid_type", text, path)
    return refuse("invalid_value", f"Invalid value for '{path}': {what[0].lower()}{what[1:]}.", path)
