"""How much the model is asked to think, and what it then does not take: by the version of Claude.

A Claude that thinks with a budget refuses to think inside a tool loop that did not begin with a block of reasoning,
refuses demanded calls while it thinks, and takes no temperature. One that does not think is sent none of its earlier
reasoning.

Of other models, DeepSeek and Kimi refuse to think after a call that came without a block of reasoning, and some think
unless they are asked not to. Others make a call now and then without thinking: only the beginning of a loop tells that
its reasoning is lost.
"""

from typing import Any, Final, NamedTuple

from ...protocol.warnings import ClientWarning
from ...providers.claude_models import BUDGETS, ClaudeModel
from .block_state import THOUGHTS

Json = dict[str, Any]

_EFFORTS: Final = {"minimal": "low"}
"""Efforts that this API names differently."""
_PATH: Final = "reasoning.effort"
CALL: Final = frozenset({"tool_use"})
RESULT: Final = frozenset({"tool_result"})
OTHER_BUDGETS: Final = {
    "minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 30000,
}  # fmt: skip
"""How many tokens a model that is no Claude may think. Many servers only look at whether it may."""


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


def thinking_for_other(effort: str | None, messages: list[Json], *, state_was_refused: bool) -> Thinking:
    """How a model that is no Claude is asked to think.

    `state_was_refused`: its server has just refused the reasoning of this conversation, or misses some.
    """
    began = _open_loop(messages)[:1]
    lacks = state_was_refused or any(_has(message, CALL) and not _has(message, THOUGHTS) for message in began)
    if effort == "none" or (lacks and (effort is not None or state_was_refused)):
        warnings = [] if effort == "none" else [_stopped(effort)]
        return Thinking({"thinking": {"type": "disabled"}}, None, is_on=False, warnings=warnings)
    if effort is None:
        return Thinking({}, None, is_on=False, warnings=[])
    budget = {"thinking": {"type": "enabled", "budget_tokens": OTHER_BUDGETS[effort]}}
    return Thinking(budget, None, is_on=True, warnings=[])


def _stopped(effort: str | None) -> ClientWarning:
    reason = "its server wants the reasoning before earlier tool calls back, and some of it is missing."
    if effort is None:
        return ClientWarning(_PATH, _PATH, f"The model was asked not to think on this turn: {reason}")
    return ClientWarning(_PATH, _PATH, f"'{_PATH}' has no effect on this turn: {reason}")


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
    """Whether a Claude may think now: not in a tool loop whose messages began without reasoning."""
    turns = _open_loop(messages)
    return not turns or any(turns[end]["content"][0]["type"] in THOUGHTS for end in (0, -1))


def _open_loop(messages: list[Json]) -> list[Json]:
    """The model's messages since the user last spoke."""
    turns: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            turns.append(message)
        elif message["role"] == "user" and not _has(message, RESULT):
            turns = []
    return turns


def _has(message: Json, kinds: frozenset[str]) -> bool:
    return any(block["type"] in kinds for block in message["content"])
