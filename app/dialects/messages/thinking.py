"""How much the model is asked to think, and what it then does not take: by the version of Claude.

A Claude that thinks with a budget refuses to think inside a tool loop that did not begin with a block of reasoning,
refuses demanded calls while it thinks, and takes no temperature. One that does not think is sent none of its earlier
reasoning.

Of other models, DeepSeek and Kimi refuse to think after a call that came without a block of reasoning, and some think
unless they are asked not to. Others make a call now and then without thinking: only the beginning of a loop tells that
its reasoning is lost.
"""

from typing import NamedTuple

from ...providers.claude import BUDGETS, Claude
from ...types.json import Json
from ...types.problems import Warnings
from .blocks import THOUGHTS

_OTHER_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 30000}
"""How many tokens a model that is no Claude may think. Many servers only look at whether it may."""
_BINDING: Json = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
"""Reasoning whose context was changed is dropped, instead of refused with the whole request."""


class Thinking(NamedTuple):
    """How the model is asked to think."""

    field: Json = {}
    """The value of `thinking`; empty if there is none."""
    effort: str | None = None
    """The value of `output_config.effort`."""
    is_on: bool = False


def thinking_of(
    effort: str | None, claude: Claude, messages: list[Json], warnings: Warnings, *, demands: bool, by_maker: bool
) -> Thinking:
    """How this Claude is asked to think.

    `demands`: the client demands a call. `by_maker`: the server may drop reasoning whose context was changed.
    """
    if claude.adaptive:
        return _adaptive(effort, claude, _BINDING if by_maker and claude.binds_blocks else {})
    if effort is None or effort == "none":
        return Thinking()
    turns = _open_loop(messages)
    reason = "the tool calls before this turn did not begin with reasoning of this model"
    if demands:
        reason = "a model that thinks cannot be required to call a tool"
    elif not turns or any(turns[end]["content"][0]["type"] in THOUGHTS for end in (0, -1)):
        return Thinking({"type": "enabled", "budget_tokens": BUDGETS[effort]}, is_on=True)
    warnings.append(f"'reasoning.effort' has no effect on this turn: {reason}.")
    return Thinking()


def thinking_of_other(effort: str | None, messages: list[Json], warnings: Warnings, *, state_refused: bool) -> Thinking:
    """How a model that is no Claude is asked to think.

    `state_refused`: its server has just refused the reasoning of this conversation, or misses some.
    """
    if effort == "none":
        return Thinking({"type": "disabled"})
    began = {block["type"] for message in _open_loop(messages)[:1] for block in message["content"]}
    if state_refused or (effort and "tool_use" in began and not began & THOUGHTS):
        told = "'reasoning.effort' has no effect" if effort else "The model was asked not to think"
        reason = "its server wants the reasoning before earlier tool calls back, and some of it is missing"
        warnings.append(f"{told} on this turn: {reason}.")
        return Thinking({"type": "disabled"})
    return Thinking({"type": "enabled", "budget_tokens": _OTHER_BUDGETS[effort]}, is_on=True) if effort else Thinking()


def _adaptive(effort: str | None, claude: Claude, binding: Json) -> Thinking:
    if not claude.thinks_unasked and effort in (None, "none"):
        return Thinking()
    if effort == "none":
        partly = claude.stops_by != "disabled"
        return Thinking({"type": claude.stops_by, **(binding if partly else {})}, is_on=partly)
    shows: Json = {"display": "summarized"} if claude.shows_thoughts_if_asked else {}
    return Thinking({"type": "adaptive", **shows, **binding}, "low" if effort == "minimal" else effort, is_on=True)


def _open_loop(messages: list[Json]) -> list[Json]:
    """The model's messages since the user last spoke."""
    turns: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            turns.append(message)
        elif all(block["type"] != "tool_result" for block in message["content"]):
            turns = []
    return turns
