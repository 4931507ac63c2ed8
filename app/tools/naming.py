"""The names of the functions that carry a client's tools.

A tool `t` of the namespace `X` is carried by a function `X__t`, and a call of that function is returned as one of `t`,
with its `namespace`. The description of the namespace is sent with its first tool.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import count
from typing import NamedTuple

from ..types.request import NamespaceTool, Tool
from .base import NamedTool, ToolName

_FITS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_MARKED = 55
"""Characters of a name that stay before the mark of a name that could not be kept."""
DEFAULT_NAMESPACE = "functions"
"""OpenAI's namespace for tools without one. Codex puts its own tools into it for some models."""


class Names:
    """The name of the function that carries each tool, the same in every turn: prompt caches break otherwise.

    A name is kept where it can be: up to 64 plain characters, and no other tool's. Otherwise it is shortened and gets
    a digest of the client's name for the tool. The client's own functions keep theirs, even if a namespace or a custom
    tool would get the same name.
    """

    def __init__(self, functions: Iterable[str]) -> None:
        self._names: dict[ToolName, str] = {}
        self._tools = {name: ToolName("function", name) for name in functions}

    def of(self, tool: ToolName) -> str:
        """The name of the function that carries this tool."""
        if tool not in self._names:
            name, attempts = _flat(tool), count()
            while not _FITS.fullmatch(name) or self._tools.setdefault(name, tool) != tool:
                name = _marked(tool, next(attempts))
            self._names[tool] = name
        return self._names[tool]


def _flat(tool: ToolName) -> str:
    if tool.namespace in (None, DEFAULT_NAMESPACE):
        return tool.name
    return f"{tool.namespace.removesuffix('__')}__{tool.name}"


def _marked(tool: ToolName, attempt: int) -> str:
    identity = "\0".join((tool.type, tool.namespace or "", tool.name, str(attempt)))
    return f"{_UNNAMEABLE.sub('_', _flat(tool))[:_MARKED]}_{sha256(identity.encode()).hexdigest()[:8]}"


class Member(NamedTuple):
    """One tool: its name, its path in the request, and what its namespace says of itself."""

    tool: Tool
    name: ToolName
    path: str
    about: str = ""


def members(tools: Sequence[Tool], path: str = "") -> list[Member]:
    """The tools of a list, those in namespaces among them."""
    found = []
    for index, tool in enumerate(tools):
        place = f"{path}[{index}]"
        if not isinstance(tool, NamespaceTool):
            found.append(_member(tool, place, None))
            continue
        within = [_member(inner, f"{place}.tools[{at}]", tool.name) for at, inner in enumerate(tool.tools)]
        if within and (about := (tool.description or "").strip()):
            within[0] = within[0]._replace(about=f"{tool.name}: {about}")
        found += within
    return found


def _member(tool: Tool, path: str, namespace: str | None) -> Member:
    name = tool.name if isinstance(tool, NamedTool) else tool.type
    return Member(tool, ToolName(tool.type, name, namespace), path)
