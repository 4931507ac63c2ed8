"""Earlier thoughts on their way back, where a provider has rules of its own for them."""

from typing import Any, Final

import pytest

from app.upstreams.litellm_ask import arguments
from app.upstreams.litellm_chat import LitellmChat
from tests.support.upstream_asks import KEY, TOOLS, answers, asks, server
from tests.wire.script import text_turn
from tests.wire.servers import anthropic as claude

Json = dict[str, Any]

ASKED: Final[Json] = {"role": "user", "content": "Rome?"}
CALLED: Final[Json] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
}
ANSWERED: Final[Json] = {"role": "tool", "tool_call_id": "c1", "content": "warm"}
THOUGHT: Final[Json] = {**CALLED, "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}


async def sent(provider: str, *messages: Json, effort: str) -> Json:
    """The body as it reached the provider."""
    script = [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()] if provider == "anthropic" else text_turn("Hi")
    with server(provider, script) as upstream:
        upstream.may_violate = True  # `thinking` is DeepSeek's own
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url)
        await answers(chat, asks(provider, messages=list(messages), tools=TOOLS, reasoning_effort=effort))
    [ask] = upstream.asks
    return ask.body


@pytest.mark.parametrize(
    ("messages", "effort", "thinks", "first"),
    [
        ([ASKED], "low", True, []),
        ([ASKED, CALLED, ANSWERED], "low", False, ["tool_use"]),
        ([ASKED, THOUGHT, ANSWERED], "low", True, ["thinking"]),
        ([ASKED, THOUGHT, ANSWERED], "none", False, ["tool_use"]),
        ([ASKED, THOUGHT, ANSWERED, {**CALLED, "content": "so"}, ANSWERED], "low", True, ["thinking", "text"]),
    ],
    ids=["nothing was said", "begun without", "begun with thoughts", "switched off", "gone on without"],
)
async def test_claude_thinks_on_where_it_began_with_thoughts(
    messages: list[Json],
    effort: str,
    thinks: bool,  # noqa: FBT001 — one of two outcomes
    first: list[str],
) -> None:
    """A loop is one turn to it: it refuses to think in one begun without, and to be shown thoughts where it may not."""
    body = await sent("anthropic", *messages, effort=effort)
    items = [message["content"][0]["type"] for message in body["messages"] if message["role"] == "assistant"]
    assert ("thinking" in body, items) == (thinks, first)


async def test_a_loop_that_claude_cannot_think_in_is_told() -> None:
    chat = LitellmChat("anthropic", api_key=KEY)
    messages = [ASKED, CALLED, ANSWERED]
    assert await chat.dropped(asks("anthropic", messages=messages, reasoning_effort="low")) == ["reasoning_effort"]
    assert await chat.dropped(asks("anthropic", messages=messages)) == []


NAMED: Final[Json] = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize(
    ("model", "choice", "thinks"),
    [
        ("claude-sonnet-4-5", "required", False),
        ("claude-sonnet-4-5", NAMED, False),
        ("claude-sonnet-4-5", "auto", True),
        ("claude-opus-4-6", "required", True),
    ],
)
async def test_an_older_claude_that_must_call_a_tool_does_not_think(
    model: str,
    choice: object,
    thinks: bool,  # noqa: FBT001 — one of two outcomes
) -> None:
    """It refuses both together."""
    with server("anthropic", [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        ask = asks("anthropic", messages=[ASKED], tools=TOOLS, reasoning_effort="low", tool_choice=choice)
        assert (await answers(chat, ask | {"model": model}))[1] is None
        assert await chat.dropped(ask | {"model": model}) == ([] if thinks else ["reasoning_effort"])
    [sent] = upstream.asks
    assert ("thinking" in sent.body) == thinks
    assert upstream.violations == []


EMPTY: Final[Json] = {**CALLED, "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}


NEVER: Final[Json] = {"reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("model", "settings", "first", "thinking", "dropped"),
    [
        ("claude-sonnet-5", {}, "thinking", None, []),
        ("claude-sonnet-5-20270101", {}, "thinking", None, []),
        ("claude-sonnet-5", NEVER, "tool_use", {"type": "disabled"}, []),
        ("claude-opus-5", NEVER, "tool_use", {"type": "disabled"}, []),
        ("claude-haiku-5-5", NEVER, "tool_use", {"type": "disabled"}, []),
        ("claude-opus-5-5", NEVER, "thinking", None, ["reasoning_effort"]),
        ("claude-sonnet-5-5", NEVER, "thinking", None, ["reasoning_effort"]),
        ("claude-fable-5", NEVER, "thinking", None, ["reasoning_effort"]),
        ("claude-sonnet-9", NEVER, "thinking", None, ["reasoning_effort"]),
        ("claude-sonnet-4-5", {}, "tool_use", None, []),
        ("claude-sonnet-4-5", NEVER, "tool_use", None, []),
        ("claude-opus-4-20250514", {}, "tool_use", None, []),
        ("claude-3-7-sonnet-20250219", {}, "tool_use", None, []),
    ],
)
async def test_a_claude_that_thinks_unasked_gets_its_thoughts_back(
    model: str, settings: Json, first: str, thinking: Json | None, dropped: list[str]
) -> None:
    """Signed and empty as they may be, unless it was asked not to think, which only models of litellm's map are.

    An older one refuses them where it was not asked to think.
    """
    with server("anthropic", [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        ask = asks("anthropic", messages=[ASKED, EMPTY, ANSWERED], tools=TOOLS, **settings) | {"model": model}
        assert (await answers(chat, ask))[1] is None
        assert await chat.dropped(ask) == dropped
    [sent] = upstream.asks
    block = sent.body["messages"][1]["content"][0]
    assert (block["type"], sent.body.get("thinking")) == (first, thinking)
    if first == "thinking":
        assert block == {"type": "thinking", "thinking": "", "signature": "c2ln"}


async def test_a_claude_that_thinks_unasked_can_be_asked_not_to_in_a_loop_that_began_without_thoughts() -> None:
    with server("anthropic", [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        ask = asks("anthropic", messages=[ASKED, CALLED, ANSWERED], tools=TOOLS, **NEVER) | {"model": "claude-opus-5"}
        assert (await answers(chat, ask))[1] is None
        assert await chat.dropped(ask) == []
    assert upstream.asks[0].body["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("model", "none"), [("claude-sonnet-5", True), ("claude-opus-5-5", False), ("claude-sonnet-4-5", True)]
)
async def test_the_effort_none_is_known_where_claude_can_stop_thinking(model: str, *, none: bool) -> None:
    """Where it is not, the least effort is asked for instead, with a warning."""
    can = await LitellmChat("anthropic").capabilities(model)
    assert ("none" in (can.efforts or ())) == none


@pytest.mark.parametrize(
    ("provider", "model", "effort"),
    [
        ("bedrock", "anthropic.claude-sonnet-4-5-v1:0", None),
        ("vertex_ai", "claude-sonnet-4-5", None),
        ("vertex_ai", "gemini-3-pro-preview", "low"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "low"),
    ],
)
def test_claude_is_asked_so_wherever_it_runs(provider: str, model: str, effort: str | None) -> None:
    """OpenRouter puts it right itself."""
    ask = asks(messages=[ASKED, CALLED, ANSWERED], tools=TOOLS, reasoning_effort="low") | {"model": model}
    assert arguments(provider, ask, base_url=None).get("reasoning_effort") == effort


@pytest.mark.parametrize(("effort", "thought"), [("low", " "), ("none", None)])
async def test_deepseek_gets_a_blank_thought_where_one_is_missing(effort: str, thought: str | None) -> None:
    """While it thinks it refuses a call without: another model may have made it."""
    body = await sent("deepseek", ASKED, CALLED, ANSWERED, effort=effort)
    assert body["messages"][1].get("reasoning_content") == thought


async def test_deepseeks_own_thoughts_stay_as_they_are() -> None:
    body = await sent("deepseek", ASKED, {**CALLED, "reasoning_content": "hm\n"}, ANSWERED, effort="low")
    assert body["messages"][1]["reasoning_content"] == "hm\n"
