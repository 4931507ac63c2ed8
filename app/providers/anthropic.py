"""Anthropic, and Claude wherever it runs.

Claude refuses to be shown earlier thoughts when it may not think, and to think in the midst of a tool loop that it did
not begin with thoughts. litellm (1.106) leaves 4,096 tokens for the answer after them, unless the request has a limit.
"""

import re
from dataclasses import replace
from typing import Final

from app.options import Format
from app.providers.provider import (
    LEVELS,
    AskFacts,
    ErrorWords,
    Json,
    Litellm,
    ModelFacts,
    Parser,
    Provider,
    Translation,
)

_VERSION: Final = re.compile(r"claude-(?:[a-z]{1,20}-)?(\d{1,2})(?!\d)")
"""The name of a Claude, and its version."""
_UNASKED_FROM: Final = 5
"""The first version that thinks without being asked to."""
_BUDGETS: Final = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192}
"""How many tokens litellm lets an older Claude think."""


def formats_beside_tools(facts: ModelFacts) -> tuple[Format, ...] | None:
    """No format where litellm forces a tool that stands for it: no other tool could be called."""
    return None if facts.says("native_structured_output") else ()


def _efforts(facts: ModelFacts) -> tuple[str, ...]:
    if not facts.says("adaptive_thinking"):
        return ("none", *_BUDGETS)
    extra = [name for name in ("xhigh", "max") if facts.says(f"{name}_reasoning_effort")]
    return (*(() if facts.always_thinks else ("none",)), "minimal", *LEVELS, *extra)


def _thinking_tokens(facts: ModelFacts) -> dict[str, int] | None:
    return None if facts.says("adaptive_thinking") else dict(_BUDGETS)


def may_think(ask: Json) -> bool:
    """Whether Claude may think now. It refuses to in the midst of a tool loop that it did not begin with thoughts.

    Another model may have begun it, or the client may have forgotten what was thought. Most models think only where
    a loop begins: what comes later in it may lack thoughts.
    """
    loop: list[Json] = []
    before = ""
    for message in ask["messages"]:
        if message["role"] == "user" and before != "tool":  # after outputs it shows what they could not hold
            loop = []
        elif message["role"] == "assistant":
            loop.append(message)
        before = message["role"]
    return not loop or "tool_calls" not in loop[-1] or any("thinking_blocks" in loop[end] for end in (0, -1))


def thinks_unasked(model: str) -> bool:
    """Whether this Claude thinks without being asked to, and therefore takes earlier thoughts back at any time."""
    version = _VERSION.search(model)
    return version is not None and int(version[1]) >= _UNASKED_FROM


def ignores_effort(facts: AskFacts) -> bool:
    """Whether the effort that this request names has no effect on its Claude."""
    effort = facts.ask.get("reasoning_effort")
    if effort == "none":
        return thinks_unasked(str(facts.ask["model"])) and not facts.stops_thinking
    return effort is not None and not may_think(facts.ask)


def prepare(settings: Json, facts: AskFacts) -> Json:
    """These settings, with no effort that it would refuse, and with earlier thoughts only if it thinks now."""
    ask = facts.ask
    effort = ask.get("reasoning_effort")
    given = settings | _room_to_think(ask, facts.most_tokens)
    settings = {key: value for key, value in given.items() if value is not None}
    if effort not in (None, "none") and may_think(ask):
        return settings
    settings.pop("reasoning_effort", None)
    if thinks_unasked(str(ask["model"])):
        if effort != "none" or not facts.stops_thinking:
            return settings
        settings["thinking"] = {"type": "disabled"}
    settings["messages"] = [_without_thoughts(message) for message in settings["messages"]]
    return settings


def _room_to_think(ask: Json, most_tokens: int | None) -> Json:
    """Room for an answer beside the thoughts, where the client set no limit."""
    limit = ask.get("max_tokens") or ask.get("max_completion_tokens")
    if ask.get("reasoning_effort") in (None, "none") or limit or not most_tokens:
        return {}
    return {"max_tokens": most_tokens}


def _without_thoughts(message: Json) -> Json:
    return {key: value for key, value in message.items() if key != "thinking_blocks"}


def _address(base_url: str) -> str:
    return base_url.removesuffix("/v1")


CLAUDE: Final = Translation(
    lost_parts=frozenset({"input_audio"}),
    refuses_blank=True,
    formats=("json_schema",),  # it drops a plain `json_object`
    formats_beside_tools=formats_beside_tools,
    efforts=_efforts,
    thinking_tokens=_thinking_tokens,
    prepare=prepare,
    ignores_effort=ignores_effort,
)
"""Claude, wherever it runs."""

PROVIDERS: Final = (
    Provider(
        name="anthropic",
        one_maker=True,
        needs_tools=True,
        error_words=ErrorWords(too_long=("exceed context limit",), quota=("credit balance is too low",)),
        litellm=Litellm(
            any_key=True,
            fetches_images="http",
            address=_address,
            overloaded="overloaded_error",
            parser=Parser(module="litellm.llms.anthropic.chat"),
        ),
        translation=replace(CLAUDE, drops_strict=True, replaces_references="old", needs_most_tokens=True),
    ),
)
