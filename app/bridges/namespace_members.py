"""Namespaces: several tools under one name, each carried on its own.

A tool `t` of the namespace `X` is carried by a function `X__t`, and a call of that function is returned as one of `t`,
with its `namespace`. The description of the namespace is sent with its first tool.
"""

from typing import NamedTuple

from ..protocol.request.tools import NamedTool, NamespaceTool, Tool
from .naming import ToolName


class Member(NamedTuple):
    """One tool: its name, its path in the request, and the description of its namespace."""

    tool: Tool
    name: ToolName
    path: str
    about: str = ""


def members(tool: Tool, path: str) -> list[Member]:
    """The tools in a namespace; for any other tool, the tool itself."""
    if not isinstance(tool, NamespaceTool):
        return [_member(tool, path, None)]
    items = [_member(inner, f"{path}.tools[{index}]", tool.name) for index, inner in enumerate(tool.tools)]
    description = (tool.description or "").strip()
    if not items or not description:
        return items
    about = f"{tool.name}: {description}"
    return [items[0]._replace(about=about), *items[1:]]


def _member(tool: Tool, path: str, namespace: str | None) -> Member:
    name = tool.name if isinstance(tool, NamedTool) else tool.type
    return Member(tool, ToolName(tool.type, name, namespace), path)
