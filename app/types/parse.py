"""JSON -> `Request`, or the first fault with its exact path."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from .json import MOST_VALUES, Json, as_object, given, has_too_many_values
from .problems import ProblemError, Warnings, refuse
from .request import (
    ITEMS,
    AllowedTools,
    ChosenTool,
    Item,
    NamespaceTool,
    OtherItem,
    OtherTool,
    Request,
    Shape,
    Tool,
    ToolItem,
    UnknownPart,
)
from .unsupported import KNOWN, SHOWN, refuse_unsupported, warnings_about

_T = TypeVar("_T")
_S = TypeVar("_S", bound=Shape)

_MOST_ITEMS = 16_384
_MOST_ENTRIES = 32_768
"""Entries of all lists inside items: content parts, thoughts, commands, outputs, tools."""
_MOST_TOOLS = 1_024
_DEEPEST = 128
"""Levels of nesting. Enough for any schema, and far fewer than encoders can write."""
_LONGEST = 512
"""Characters of a value of `metadata`."""
_NO_PICTURE = "[A picture was left out here: this server keeps no files.]"
_CHAT = (
    "This is the body of a chat completion: it has 'messages', and no 'input'. In the Responses API the conversation "
    "is 'input': a text, or a list of messages."
)
_NESTED = " In the Responses API name, description and parameters stand beside 'type', and not in 'function'."
_REFERENCE = (
    "refers to an item stored by an earlier response. This server is stateless and stores nothing: "
    "send the items themselves in 'input', and set `store: false` so that your client keeps them."
)
_FAULT = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<types>[^`]+)`, got `(?P<got>\w+)`")
_UNKNOWN = re.compile(r"Invalid value '(?P<value>.*)'", re.DOTALL)
_OF_PART = re.compile(r"\.(content|output)\[\d+\]\.type\Z")
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


class ToolShapes(NamedTuple):
    """The shapes of tools, and of their calls and outputs, by `type`: those of `tools/`."""

    tools: Mapping[str, type[Tool]]
    items: Mapping[str, type[ToolItem]]
    named: frozenset[str]
    """The types of tools that differ by their names."""


def decode(body: bytes) -> Json:
    """The JSON object in a body, which holds no more values than a machine can bear, and can be written again."""
    if has_too_many_values(body):
        raise invalid("body", f"it contains more than the {MOST_VALUES} JSON values that are allowed")
    try:
        raw = msgspec.json.decode(body)
    except UnicodeDecodeError:
        raise refuse("invalid_json", "The body is not valid JSON: it is not UTF-8.") from None
    except RecursionError:
        raise _too_deep() from None
    except msgspec.MsgspecError as error:
        raise refuse("invalid_json", f"The body is not valid JSON: {error}.") from None
    level: list[Any] = [_object(raw, "body")]
    for _ in range(_DEEPEST):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if (kind := type(child)) is dict or kind is list
        ]
        if not level:
            return raw  # type: ignore[no-any-return] # `_object` has seen to it
    raise _too_deep()


def parse(raw: Json, shapes: ToolShapes, positions: Sequence[int] = ()) -> tuple[Request, Warnings]:
    """The request in this object, and a warning for each parameter without an effect.

    `positions`: where each item was posted, if an item was expanded: faults name that place.
    """
    refuse_unsupported(raw)
    posted = given(raw)
    if "messages" in posted and "input" not in posted:
        raise refuse("missing_required_parameter", _CHAT, "input")
    if posted.get("model", "") == "":
        raise missing("model")
    if "input" not in posted:
        raise missing("input")
    reader = _Reader(shapes, positions)
    parsed = {key: value for key, value in posted.items() if key in KNOWN}
    parsed |= {"positions": positions, "posted": raw}
    parsed["input"] = reader.input(posted["input"])
    if "tools" in posted:
        parsed["offers"] = reader.tools(posted["tools"], "tools")
    if "tool_choice" in posted:
        parsed["choice"] = reader.choice(posted["tool_choice"])
    if isinstance(text := posted.get("text"), dict):
        parsed["text"] = given(text)
    request = shaped(Request, parsed, "")
    return request, warnings_about(posted, request, reader.unknown.values())


class _Reader:
    """Reads what has a shape by its `type`."""

    def __init__(self, shapes: ToolShapes, positions: Sequence[int]) -> None:
        self._shapes = shapes
        self._positions = positions
        self._count = 0
        """Of all tools."""
        self.unknown: dict[str, str] = {}
        """By its name, the first path of each member of tools that is not known."""

    def input(self, raw: Any) -> str | tuple[Item, ...]:
        """A text, or items. All entries of lists in them are counted before any item is read."""
        if isinstance(raw, str):
            return raw
        entries = 0
        for index, item in enumerate(raw if isinstance(raw, list) else ()):
            entries += _entries(item)
            if entries > _MOST_ENTRIES:
                path = f"input[{self._positions[index] if self._positions else index}]"
                found = f"up to here the input contains {entries} content parts and other list entries"
                raise invalid(path, f"{found}, and at most {_MOST_ENTRIES} are allowed")
        return _each(raw, "input", self._item, _MOST_ITEMS, "a string or an array of items", self._positions)

    def tools(self, raw: Any, path: str, most: int = _MOST_TOOLS) -> tuple[Tool, ...]:
        """Tools, those of namespaces within them. More than allowed in the whole turn are refused."""
        tools = _each(raw, path, self._tool, most)
        if self._count > _MOST_TOOLS:
            raise invalid("tools", f"in all, at most {_MOST_TOOLS} are allowed")
        return tools

    def choice(self, raw: Any) -> Any:
        """One of three words, one tool, or a list of allowed tools."""
        path = "tool_choice"
        if raw in ("auto", "none", "required"):
            return raw
        if isinstance(raw, str):
            raise invalid(path, "expected 'auto', 'none', 'required' or an object")
        if not isinstance(raw, dict):
            raise wrong_type(path, "a string or an object", raw)
        choice, kind = typed(given(raw), path)
        if kind != "allowed_tools":
            return self._chosen(choice, path)
        if "tools" not in choice:
            raise missing(f"{path}.tools")
        tools = _each(choice["tools"], f"{path}.tools", self._chosen, _MOST_TOOLS)
        return shaped(AllowedTools, {**choice, "tools": tools}, path)

    def _item(self, raw: Any, path: str) -> Item:
        """One item, by its `type`. Without one it is a message, or a reference, of which OpenAI's types allow it."""
        item = _object(raw, path)
        if item.get("type") is None:
            is_message = "role" in item or "content" in item or item.get("id") is None
            item = {**item, "type": "message" if is_message else "item_reference"}
        item, kind = typed(item, path)
        if kind == "item_reference":
            raise refuse("unsupported_parameter", f"'{path}' {_REFERENCE}", path)
        if kind == "computer_call_output":
            item = {**item, "output": _with_picture(item.get("output"))}
        shape: type[Item] = ITEMS.get(kind) or self._shapes.items.get(kind) or OtherItem
        try:
            return self._filled(shape, item, path)
        except ProblemError as error:
            if error.problem.code == "invalid_value" and _OF_PART.search(error.problem.param):
                return UnknownPart(fault=error)
            raise

    def _tool(self, raw: Any, path: str) -> Tool:
        tool, kind = typed(raw, path)
        shape = NamespaceTool if kind == "namespace" else self._shapes.tools.get(kind, OtherTool)
        self._count += shape is not NamespaceTool
        for name, value in tool.items():
            if shape is not OtherTool and value is not None and name not in shape.__struct_fields__:
                self.unknown.setdefault(name, f"{path}.{name}")
        return self._filled(shape, tool, path)

    def _chosen(self, raw: Any, path: str) -> ChosenTool:
        tool, kind = typed(raw, path)
        if (kind == "namespace" or kind in self._shapes.named) and tool.get("name") is None:
            raise missing(f"{path}.name", tool)
        return shaped(ChosenTool, tool, path)

    def _filled(self, shape: type[_S], raw: Json, path: str) -> _S:
        """The object of this shape, whose `tools` are tools, and whose `members` are all that was posted."""
        filled = raw
        if "members" in shape.__struct_fields__:
            filled = {**raw, "members": raw}
        if "tools" in shape.__struct_fields__:
            if raw.get("tools") is None:
                raise missing(f"{path}.tools")
            most = _MOST_ENTRIES if shape is NamespaceTool else _MOST_TOOLS
            filled = {**raw, "tools": self.tools(raw["tools"], f"{path}.tools", most)}
        return shaped(shape, filled, path)


def _entries(raw: Any) -> int:
    """How many entries all lists in this value have."""
    if isinstance(raw, list):
        return len(raw) + sum(map(_entries, raw))
    return sum(map(_entries, raw.values())) if isinstance(raw, dict) else 0


def _with_picture(output: Any) -> Any:
    """What a computer showed, as content parts."""
    if output is not None and not isinstance(output, dict):
        return output
    shown = as_object(output)
    if isinstance(url := shown.get("image_url"), str):
        return [{"type": "input_image", "image_url": url, "detail": shown.get("detail")}]
    return [{"type": "input_text", "text": _NO_PICTURE}]


def shaped(shape: type[_S], raw: Json, path: str) -> _S:
    """The object of this shape. Refuses the first fault, by its exact path."""
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        raise _fault(str(error), raw, path, shape) from None


def _each(
    raw: Any,
    path: str,
    read: Callable[[Any, str], _T],
    most: int,
    expected: str = "an array",
    positions: Sequence[int] = (),
) -> tuple[_T, ...]:
    if not isinstance(raw, list):
        raise wrong_type(path, expected, raw)
    if len(raw) > most:
        raise invalid(path, f"it contains {len(raw)} entries, and at most {most} are allowed")
    return tuple([read(entry, f"{path}[{at}]") for at, entry in zip(positions or range(len(raw)), raw, strict=True)])


def _too_deep() -> ProblemError:
    return refuse("invalid_json", f"The body is nested too deeply: more than {_DEEPEST} levels.")


def _object(raw: Any, path: str) -> Json:
    if isinstance(raw, dict):
        return raw
    raise wrong_type(path, "an object", raw)


def typed(raw: Any, path: str) -> tuple[Json, str]:
    """The value, which must be a JSON object, and its `type`, which it must have."""
    held = _object(raw, path)
    kind = held.get("type")
    if isinstance(kind, str):
        return held, kind
    path = f"{path}.type".removeprefix(".")
    raise missing(path) if kind is None else wrong_type(path, "a string", kind)


def _name(raw: Any) -> str:
    kinds = {dict: "object", list: "array", type(None): "null"}
    return _NAMES[kinds.get(type(raw), type(raw).__name__)]


def invalid(path: str, why: str) -> ProblemError:
    """The refusal of a value."""
    return refuse("invalid_value", f"Invalid value for '{path}': {why}.", path)


def wrong_type(path: str, expected: str, got: Any) -> ProblemError:
    """The refusal of a value of the wrong type."""
    message = f"Invalid type for '{path}': expected {expected}, but got {_name(got)}."
    return refuse("invalid_type", message, path)


def missing(path: str, beside: Mapping[str, Any] = {}) -> ProblemError:
    """The refusal where the value at this path is missing, `beside` others."""
    hint = _NESTED if "function" in beside else ""
    return refuse("missing_required_parameter", f"Missing required parameter: '{path}'.{hint}", path)


def _allowed(shape: type, name: str) -> str:
    """The values that a member of this name may have."""
    parts = msgspec.json.schema_components([shape])[1].values()
    kinds = [part["properties"][name] for part in parts if name in part.get("properties", ())]
    enums = [kind["enum"] for held in kinds for kind in (held, *held.get("anyOf", ())) if "enum" in kind]
    return f"; it may be {', '.join(map(str, enums[0]))}"


def _fault(message: str, raw: Any, path: str, shape: type) -> ProblemError:
    """The refusal for what msgspec says of this value."""
    found = _FAULT.fullmatch(message)
    assert found is not None  # noqa: S101 — the pattern matches any text
    what, inner = found["what"], found["path"] or ""
    if "[...]" in inner:  # the one map whose values have a shape
        wrong = (key for key, value in raw["metadata"].items() if not isinstance(value, str) or len(value) > _LONGEST)
        inner = inner.replace("[...]", f".{next(wrong, '')[:SHOWN]}")
    path = f"{path}{inner}".removeprefix(".")
    if absent := _MISSING.fullmatch(what):
        return missing(f"{path}.{absent['name']}".removeprefix("."), raw)
    if (unknown := _UNKNOWN.fullmatch(what)) and path.endswith("].type"):
        message = f"'{path}' is '{unknown['value'][:SHOWN]}', which this server cannot send to the model."
        return refuse("invalid_value", message, path)
    if expected := _EXPECTED.fullmatch(what):
        types = [_NAMES.get(name, name) for name in expected["types"].split(" | ") if name != "null"]
        if path.endswith((".content", ".output")):
            types[-1] += " of content parts"
        got = _NAMES.get(expected["got"], expected["got"])
        text = f"Invalid type for '{path}': expected {' or '.join(types)}, but got {got}."
        return refuse("invalid_type", text, path)
    allowed = _allowed(shape, path.rpartition(".")[2]) if what.startswith("Invalid enum") else ""
    return invalid(path, f"{what[0].lower()}{what[1 : 2 * SHOWN]}{allowed}")
