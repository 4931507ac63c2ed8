"""What a client says about calls by programs, and about calls that nobody waits for: models here make neither."""

from collections.abc import Iterable
from typing import Final

from ..protocol.request.tools import Tool
from ..protocol.warnings import ClientWarning

FOR_PROGRAMS: Final = "by its 'allowed_callers' only programs may call it, and this server runs none."
WITHOUT_EFFECT: Final = {
    "async": "the model gets the output of each call before it goes on.",
    "output_schema": "the model is not told what a tool returns.",
}
"""Members of tools, and why each has no effect."""
OF_PROGRAMS: Final = ("allowed_callers", *WITHOUT_EFFECT)
"""Members of tools that no server of functions knows."""


def only_for_programs(tool: Tool) -> bool:
    """Whether the model itself may not call this tool."""
    extra = tool.model_extra
    if not extra:
        return False
    callers = extra.get("allowed_callers")
    return isinstance(callers, list) and bool(callers) and "direct" not in callers


def lost_members(tools: Iterable[Tool]) -> list[ClientWarning]:
    """One warning for each member that has no effect, however many tools have it."""
    found = {name for tool in tools if (extra := tool.model_extra) for name in WITHOUT_EFFECT if extra.get(name)}
    return [
        ClientWarning("tools", name, f"'{name}' on tools has no effect: {why}")
        for name, why in WITHOUT_EFFECT.items()
        if name in found
    ]
