"""How much the model is asked to think, and what it then does not take: by the version of Claude.

A Claude that thinks with a budget refuses to think inside a tool loop that did not begin with a block of reasoning,
refuses demanded calls while it thinks, and takes no temperature. One that does not think is sent none of its earlier
reasoning.
"""

from typing import Any, Final, NamedTuple

from ...protocol.warnings import ClientWarning
from ...providers.claude_models import BUDGETS, ClaudeModel
from .block_state import THOUGHTS

Json = dict[str, Any]

_EFFORTS: Final = {"minimal": "low"}
"""Efforts that this API names differently."""
_PATH: Final = "reasoning.effort"


class Thinking(NamedTuple):
    """The fields of a body about thinking, and whether the model thinks."""

    fields: Json
    effort: str | None
    """The value of `output_config.effort`."""
    is_on: bool
    warnings: list[ClientWarning]


def thinking_for(
    effort: str | None, claude: ClaudeModel, messages: list[Json], *, demands_call: bool, binds: bool
) -> Thinking:
    """How this Claude is asked to think. `binds`: the server may drop reasoning whose context was changed."""
    if claude.adaptive:
        return _adaptive(effort, claude, binds=binds and claude.binds_blocks)
    if effort in (None, "none"):
        return Thinking({}, None, is_on=False, warnings=[])
    if demands_call:
        return _off("a model that thinks cannot be required to call a tool")
    if not _may_think(messages):
        return _off("the tool calls before this turn did not begin with reasoning of this model")
    return Thinking({"thinking": {"type": "enabled", "budget_tokens": BUDGETS[effort]}}, None, is_on=True, warnings=[])


def _adaptive(effort: str | None, claude: ClaudeModel, *, binds: bool) -> Thinking:
    if effort == "none" or (effort is None and not claude.thinks_unasked):
        fields: Json = {"thinking": claude.stops_by} if effort == "none" and claude.stops_by else {}
        partly = fields == {"thinking": {"type": "between_tools"}}
        if partly and binds:
            fields["thinking"] = {**fields["thinking"], **_BINDING}
        return Thinking(fields, None, is_on=partly, warnings=[])
    thinking: Json = {"type": "adaptive"}
    if claude.shows_thoughts_if_asked:
        thinking["display"] = "summarized"
    if binds:
        thinking |= _BINDING
    asked = None if effort is None else _EFFORTS.get(effort, effort)
    return Thinking({"thinking": thinking}, asked, is_on=True, warnings=[])


_BINDING: Final[Json] = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
"""Reasoning whose context was changed is dropped, instead of refused with the whole request."""


def _off(reason: str) -> Thinking:
    details = f"'{_PATH}' has no effect on this turn: {reason}."
    return Thinking({}, None, is_on=False, warnings=[ClientWarning(_PATH, _PATH, details)])


def without_thoughts(messages: list[Json]) -> list[Json]:
    """The messages without blocks of reasoning. A message that held nothing else is left out."""
    kept = [
        {**message, "content": [block for block in message["content"] if block["type"] not in THOUGHTS]}
        for message in messages
    ]
    return [message for message in kept if message["content"]]


def _may_think(messages: list[Json]) -> bool:
    """Whether the model may think now: not in a tool loop whose messages began without reasoning."""
    turns: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            turns.append(message)
        elif not any(block["type"] == "tool_result" for block in message["content"]):
            turns = []
    if not turns or messages[-1]["role"] == "assistant":
        return True
    return any(turns[end]["content"][0]["type"] in THOUGHTS for end in (0, -1))
