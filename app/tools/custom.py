"""Custom tools: one text, in no JSON, carried by a function with the one string `input`."""

import re
from typing import Literal

from msgspec import UNSET, UnsetType

from ..emitter.items import OpenCall, Position
from ..types import events as e
from ..types.json import encode
from ..types.request import Content, TypedShape
from ..types.response import ItemStatus, OutputItem
from .base import Carried, FunctionSpec, NamedCall, NamedTool, NameOf, PastOutput, PastOutputItem, ToolType
from .calls import OpenText
from .function import object_of
from .json_string import JsonString, PatchReader

_PATCH_TOOL = "apply_patch"
"""The tool of Codex that changes files."""
_HOW = "Pass the whole input, exactly as it is to be, as the string `input`."
_INPUT = {"type": "string", "description": "The whole input of the tool, as plain text."}
_SYNTAXES = {"regex": "regular expression", "lark": "Lark grammar"}
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_AGAINST_JSON = re.compile(r"(\bnot\b|n't\b|\bnever\b).*\bJSON\b", re.IGNORECASE)


class PlainInput(TypedShape, tag="text"):
    """Any text may be the input."""


class GrammarInput(TypedShape, tag="grammar", kw_only=True):
    """The input must obey this grammar: the model is told, and nothing is checked."""

    syntax: Literal["lark", "regex"]
    definition: str


class CustomTool(NamedTool):
    """A tool whose input is one text, in no JSON."""

    format: PlainInput | GrammarInput | None = None


class CustomToolCallItem(NamedCall, kw_only=True, tag="custom_tool_call"):
    """A past call of a custom tool."""

    input: str


class CustomToolCallOutputItem(PastOutputItem, kw_only=True, tag="custom_tool_call_output"):
    """The output of a past call."""

    call_id: str
    output: Content


class CustomToolCall(OutputItem, tag="custom_tool_call"):
    """A call of a custom tool."""

    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | UnsetType = UNSET


class InputDelta(e.CallEvent, tag="response.custom_tool_call_input.delta"):
    """More input."""

    delta: str


class InputDone(e.CallEvent, tag="response.custom_tool_call_input.done"):
    """The whole input."""

    input: str


def _function(tool: CustomTool, name: str) -> FunctionSpec:
    """A function with one string; its description holds the grammar."""
    paragraphs = [_SENTENCE.sub(_unless_against_json, tool.description or "").strip(), _HOW]
    if isinstance(tool.format, GrammarInput):
        syntax = _SYNTAXES[tool.format.syntax]
        paragraphs.append(f"`input` must match this {syntax}:\n{tool.format.definition.strip()}")
    parameters = object_of({"input": _INPUT}, "input")
    return FunctionSpec(name=name, description="\n\n".join(filter(None, paragraphs)), parameters=parameters)


def _unless_against_json(sentence: re.Match[str]) -> str:
    """The sentence, unless it forbids JSON. Codex writes "do not wrap the patch in JSON", which the function needs."""
    return "" if _AGAINST_JSON.search(sentence[0]) else sentence[0]


def _arguments(item: CustomToolCallItem, _: Carried) -> str:
    return encode({"input": item.input}).decode()


def _told(item: CustomToolCallOutputItem, _: NameOf) -> PastOutput:
    return PastOutput(item.call_id, item.output)


def _open(carried: Carried, call_id: str, position: Position) -> OpenCall:
    name, namespace = carried.tool.name, carried.tool.namespace or UNSET
    item = CustomToolCall(position.id, "in_progress", call_id, name, "", namespace)
    reader = PatchReader() if name == _PATCH_TOOL else JsonString("input")
    return OpenText(position, item, "input", reader, InputDelta, InputDone)


CUSTOM = ToolType(
    "custom", CustomTool, CustomToolCallItem, CustomToolCallOutputItem, "ctc", _function, _arguments, _told, _open
)
