"""Marks for Anthropic's cache, from the dialect through litellm to its wire."""

from typing import Any

import pytest

from app.dialects.chat.cache_marks import marked
from app.upstreams.litellm_chat import LitellmChat
from tests.support.servers import anthropic as claude
from tests.support.upstream_asks import KEY, TOOLS, answers, asks, server

pytestmark = pytest.mark.xdist_group("litellm")


async def test_claude_is_told_what_to_cache() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "cold"},
    ]
    with server("anthropic", [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        _, problem = await answers(chat, asks("anthropic", tools=TOOLS, messages=marked(messages)))
    assert problem is None
    body = upstream.asks[0].body
    mark = {"type": "ephemeral"}
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": mark}]
    first, _, last = body["messages"]
    assert first["content"] == [{"type": "text", "text": "Rome?", "cache_control": mark}]
    assert mark in (last["content"][0].get("cache_control"), last["content"][0]["content"][-1].get("cache_control"))
    assert str(body).count("cache_control") <= 4
