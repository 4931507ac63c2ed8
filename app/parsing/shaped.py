"""Parses a posted object by its `type`, with everything nested in it: content parts, tools, formats."""

from functools import cache
from typing import Any

from ..bridges.registry import BRIDGES
from ..protocol.problems import refuse
from ..protocol.request.input_parts import PARTS, Content, InputPart, UnknownPart
from ..protocol.request.shape import Holds, Nested, OneOf, Shape
from ..protocol.request.tools import NamespaceTool, OtherTool, Tool
from .validation import AnyShape, an_array, an_object, missing, typed_object, validated, wrong_type


def shaped(shape: type[AnyShape], raw: dict[str, Any], path: str) -> AnyShape:
    """The object of this shape. Members that are marked as objects of several shapes are read first."""
    for name, mark in _nested(shape):
        held = raw.get(name)
        if held is not None or isinstance(mark, Holds):
            raw = {**raw, name: _member(mark, held, f"{path}.{name}")}
    return validated(shape, raw, path)


def tool_shapes() -> list[type[Tool]]:
    """The shapes of all tools."""
    return [*[bridge.tool for bridge in BRIDGES.by_tool.values()], NamespaceTool, OtherTool]


def parse_content(raw: object, path: str) -> Content:
    """A string or content parts."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, list):
        return [_parse_part(part, f"{path}[{index}]") for index, part in enumerate(raw)]
    if raw is None:
        raise missing(path)
    raise wrong_type(path, "a string or an array of content parts", raw)


def parse_tools(raw: object, path: str) -> list[Tool]:
    """A list of tools."""
    return [_parse_tool(tool, f"{path}[{index}]") for index, tool in enumerate(an_array(raw, path))]


def _parse_part(raw: object, path: str) -> InputPart:
    part, kind = typed_object(raw, path)
    return validated(PARTS.get(kind, UnknownPart), part, path)


def _parse_tool(raw: object, path: str) -> Tool:
    tool, kind = typed_object(raw, path)
    if kind == "namespace":
        return shaped(NamespaceTool, tool, path)
    bridge = BRIDGES.by_tool.get(kind)
    return shaped(OtherTool if bridge is None else bridge.tool, tool, path)


@cache
def _nested(shape: type[Shape]) -> tuple[tuple[str, Holds | OneOf | Nested], ...]:
    """The marked members of a shape, by their names."""
    return tuple(
        (name, mark)
        for name, field in shape.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Holds | OneOf | Nested)
    )


def _member(mark: Holds | OneOf | Nested, raw: object, path: str) -> object:
    """The parsed value of a marked member."""
    if mark is Holds.PARTS:
        return parse_content(raw, path)
    if isinstance(mark, OneOf):
        return _one_of(mark, raw, path)
    if isinstance(mark, Nested):
        return shaped(mark.shape, an_object(raw, path), path)
    if raw is None:
        raise missing(path)
    return parse_tools(raw, path)


def _one_of(mark: OneOf, raw: object, path: str) -> Shape:
    held, kind = typed_object(raw, path)
    if kind in mark.shapes:
        return validated(mark.shapes[kind], held, path)
    if mark.otherwise is not None:
        return validated(mark.otherwise, held, path)
    names = [f"'{name}'" for name in mark.shapes]
    expected = " or ".join(names) if len(names) == 2 else f"one of {', '.join(names)}"  # noqa: PLR2004 — a pair
    raise refuse("invalid_value", f"Invalid value for '{path}.type': expected {expected}.", f"{path}.type")
