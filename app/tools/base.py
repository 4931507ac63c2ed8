"""What a tool type is: a record with its shapes, and with how a function carries it. Each has a file."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ..emitter.items import OpenCall, Position
from ..types.json import Json
from ..types.request import Content, Name, Tool, ToolItem


class ToolName(NamedTuple):
    """What a client calls a tool. No two of its tools share all three; the name of a nameless tool is its type."""

    type: str
    name: str
    namespace: str | None = None


NameOf = Callable[[ToolName], str]
"""Gives the name of the function that carries a tool."""


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function that a model may call."""

    name: str
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class NamedTool(Tool, kw_only=True):
    """One of several tools of one type, which differ by their names."""

    name: Name
    description: str | None = None
    defer_loading: bool | None = None


class NamedCall(ToolItem, kw_only=True):
    """A past call of one of them."""

    call_id: str
    name: str
    namespace: str | None = None


class PastOutputItem(ToolItem):
    """The output of a past call."""

    status: str | None = None


class Carried(NamedTuple):
    """One of the client's tools, and the function that carries it."""

    tool: ToolName
    spec: FunctionSpec
    kind: "ToolType"
    definition: Tool | None = None
    """The tool as it is offered; None if it is known from past calls alone."""


class PastCall(NamedTuple):
    """A past call of any tool, as a call of its function."""

    call_id: str
    name: str
    arguments: str


class PastOutput(NamedTuple):
    """The output of a past call."""

    call_id: str | None
    """None: it names no call."""
    content: Content
    failed: bool = False
    """Whether the client says that the tool failed."""
    function: str = ""
    """The name of its function, where it names the tool alone."""


class ToolType(NamedTuple):
    """A tool type."""

    name: str
    """The `type` of its tools. Those of its calls and outputs are the tags of their shapes."""
    tool: type[Tool]
    call: type[ToolItem]
    output: type[PastOutputItem]
    prefix: str
    """Of the ids of its calls."""
    function: Callable[[Any, str], FunctionSpec | None]
    """The function of this name that carries a tool; None if the tool would run on OpenAI's servers."""
    arguments: Callable[[Any, Carried], str]
    """The arguments of the function in a past call."""
    told: Callable[[Any, NameOf], PastOutput]
    """A past output, as text or parts."""
    open: Callable[[Carried, str, Position], OpenCall]
    """The open item for a call, by its call id."""
