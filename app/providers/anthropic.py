"""Anthropic, and Claude wherever it runs.

Claude refuses earlier thinking blocks while it may not think, and refuses to think inside a tool loop that did not
begin with a thinking block. litellm (1.106) leaves 4,096 tokens for the answer after the reasoning, unless the request
has a limit.
"""

from dataclasses import replace
from typing import Final

from ..options import Format
from .claude_models import claude_model, version_of
from .provider import (
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

_BY_DEFAULT_FROM: Final = 5
"""The first version that thinks without being asked to."""
_BUDGETS: Final = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192}
"""How many tokens litellm lets an older Claude think."""


def formats_beside_tools(facts: ModelFacts) -> tuple[Format, ...] | None:
    """No format if litellm replaces it by a tool that the model must call: no other tool could be called."""
    return None if facts.supports("native_structured_output") else ()


def _efforts(facts: ModelFacts) -> tuple[str, ...]:
    if not facts.supports("adaptive_thinking"):
        return ("none", *_BUDGETS)
    extra = [name for name in ("xhigh", "max") if facts.supports(f"{name}_reasoning_effort")]
    return (*(() if facts.always_thinks else ("none",)), "minimal", *LEVELS, *extra)


def _thinking_tokens(facts: ModelFacts) -> dict[str, int] | None:
    return None if facts.supports("adaptive_thinking") else dict(_BUDGETS)


def may_think(ask: Json) -> bool:
    """Whether Claude may think now. It refuses inside a tool loop that did not begin with a thinking block.

    Another model may have begun the loop, or the client may not have kept the thinking blocks. Most models think only
    at the beginning of a loop: later messages in it may have no thinking blocks. A model that thinks with a budget of
    tokens refuses to do so where it must call a tool.
    """
    if _must_call(ask):
        return False
    loop: list[Json] = []
    before = ""
    for message in ask["messages"]:
        if message["role"] == "user" and before != "tool":  # after tool outputs it contains parts of these outputs
            loop = []
        elif message["role"] == "assistant":
            loop.append(message)
        before = message["role"]
    return not loop or "tool_calls" not in loop[-1] or any("thinking_blocks" in loop[end] for end in (0, -1))


def _must_call(ask: Json) -> bool:
    """Whether the client demands a call of a Claude that cannot think then."""
    claude = claude_model(str(ask.get("model", "")))
    choice = ask.get("tool_choice")
    return claude is not None and not claude.adaptive and (choice == "required" or isinstance(choice, dict))


def thinks_by_default(model: str) -> bool:
    """Whether this Claude thinks without being asked to, and therefore always accepts earlier thinking blocks."""
    version = version_of(model)
    return version is not None and version[0] >= _BY_DEFAULT_FROM


def ignores_effort(facts: AskFacts) -> bool:
    """Whether the effort that this request names has no effect on its Claude."""
    effort = facts.ask.get("reasoning_effort")
    if effort == "none":
        return thinks_by_default(str(facts.ask["model"])) and not facts.stops_thinking
    return effort is not None and not may_think(facts.ask)


def prepare(settings: Json, facts: AskFacts) -> Json:
    """These settings, without an effort that Claude would refuse, and with thinking blocks only if it thinks now."""
    ask = facts.ask
    effort = ask.get("reasoning_effort")
    with_limit = settings | _room_to_think(ask, facts.most_tokens)
    settings = {key: value for key, value in with_limit.items() if value is not None}
    if effort not in (None, "none") and may_think(ask):
        return settings
    settings.pop("reasoning_effort", None)
    if thinks_by_default(str(ask["model"])):
        if effort != "none" or not facts.stops_thinking:
            return settings
        settings["thinking"] = {"type": "disabled"}
    settings["messages"] = [_without_thoughts(message) for message in settings["messages"]]
    return settings


def _room_to_think(ask: Json, most_tokens: int | None) -> Json:
    """A limit that leaves room for an answer after the reasoning, if the client set none."""
    limit = ask.get("max_tokens") or ask.get("max_completion_tokens")
    if ask.get("reasoning_effort") in (None, "none") or limit or not most_tokens:
        return {}
    return {"max_tokens": most_tokens}


def _without_thoughts(message: Json) -> Json:
    return {key: value for key, value in message.items() if key != "thinking_blocks"}


def _address(base_url: str) -> str:
    return base_url.removesuffix("/v1")


CLAUDE: Final = Translation(
    cached_to_marks=True,
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
        messages_url="https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY",
        makes_claude=True,
        one_maker=True,
        needs_tools=True,
        error_words=ErrorWords(
            too_long=("exceed context limit",),
            quota=("credit balance is too low",),
            state=(
                r"\binvalid \W?(?:signature|data)\W? in \W?(?:redacted_)?thinking\W? block",
                r"\binvalid \W?encrypted_\w{1,20}\W? in \W?\w{1,40}\W? block",
                r"\bexpected \W?thinking\W? or \W?redacted_thinking\W?, but found",
                r"thinking\W? blocks in the latest assistant message cannot be modified",
            ),
            schemas=(
                r"\bcompiled grammar is too large",
                r"\bschema is too complex",
                r"\btoo many (?:strict tools|optional parameters|recursive definitions)",
                r"\bfor '\w{1,20}' type, ",
                r"\boutput_(?:config\.)?format(?:\.schema)?: ",
            ),
        ),
        litellm=Litellm(
            any_key=True,
            fetches_images="http",
            address=_address,
            overloaded="overloaded_error",
            parser=Parser(module="litellm.llms.anthropic.chat"),
        ),
        translation=replace(CLAUDE, drops_strict=True, needs_most_tokens=True),
    ),
)
