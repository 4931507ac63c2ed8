"""The names of the functions that carry a client's tools."""

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import count
from typing import Final, NamedTuple

_FITS: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNNAMEABLE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LENGTH: Final = 64
_MARK: Final = 8
"""Hexadecimal digits after a name that could not be kept: enough to distinguish all tools of a turn."""

DEFAULT_NAMESPACE: Final = "functions"
"""OpenAI's namespace for tools without one. Codex puts its own tools into it for some models."""


class ToolName(NamedTuple):
    """The name of a tool as the client gives it. No two tools of a client share all three."""

    type: str
    name: str
    namespace: str | None = None


class Names:
    """The name of the function that carries each tool, chosen once per turn.

    A name is kept where it can be: up to 64 plain characters, and no other tool's. Otherwise it is shortened and gets
    a digest of the client's name for the tool, so that it is the same in every turn. The client's own functions
    keep theirs, even if a namespace or a custom tool would get the same name.
    """

    def __init__(self, functions: Iterable[str] = ()) -> None:
        self._names: dict[ToolName, str] = {}
        self._tools: dict[str, ToolName] = {name: ToolName("function", name) for name in functions}

    def of(self, tool: ToolName) -> str:
        """The name of the function that carries this tool. Each later call returns the same name."""
        known = self._names.get(tool)
        if known is None:
            attempts = count()
            name = _flat(tool)
            while not _FITS.fullmatch(name) or self._tools.setdefault(name, tool) != tool:
                name = _marked(tool, next(attempts))
            known = self._names[tool] = name
        return known


def _flat(tool: ToolName) -> str:
    if tool.namespace in {None, DEFAULT_NAMESPACE}:
        return tool.name
    space = tool.namespace if tool.namespace.endswith("__") else f"{tool.namespace}__"
    return space + tool.name


def _marked(tool: ToolName, attempt: int) -> str:
    identity = "\0".join((tool.type, tool.namespace or "", tool.name, str(attempt)))
    mark = sha256(identity.encode()).hexdigest()[:_MARK]
    return f"{_UNNAMEABLE.sub('_', _flat(tool))[: _LENGTH - _MARK - 1]}_{mark}"
