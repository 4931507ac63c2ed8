"""What litellm would keep in memory for nothing is not there, and what is loaded late works."""

from typing import Any

import pytest

from app.upstreams.litellm_chat import LitellmChat, load
from app.upstreams.litellm_memory import spare_memory
from tests.support.litellm_asks import SCRIPTS
from tests.support.upstream_asks import KEY, answers, asks, server
from tests.wire.script import text_turn


def test_what_nobody_uses_is_not_kept() -> None:
    litellm = load()
    assert litellm.utils.json_data == {}
    assert litellm.utils.claude_json_str.startswith("{")
    assert len(litellm.model_cost) > 2000
    assert dict(litellm.litellm_core_utils.get_model_cost_map.GetModelCostMap.loaded_model_cost_map()) == {}


def test_the_tokenizer_is_loaded_where_it_is_used() -> None:
    litellm = load()
    late = litellm.main._get_encoding()
    assert type(late).__module__ == "app.upstreams.litellm_memory"
    assert late.encode("one two three") == litellm.main._load_default_encoding().encode("one two three")


@pytest.mark.parametrize("provider", [None, "openai", "anthropic", "gemini", "deepseek", "groq"])
async def test_no_request_loads_the_tokenizer(monkeypatch: pytest.MonkeyPatch, provider: str | None) -> None:
    litellm = load()
    loaded: list[str] = []
    monkeypatch.setattr(litellm.main, "_encoding_cache", None)
    monkeypatch.setattr(litellm.main, "_load_default_encoding", lambda: loaded.append("it"))
    spare_memory(litellm)
    with server(provider, SCRIPTS.get(str(provider), text_turn("Hi"))) as upstream:
        chunks, problem = await answers(LitellmChat(provider, api_key=KEY, base_url=upstream.url), asks(provider))
    assert (bool(chunks), problem, loaded) == (True, None, [])


def test_a_litellm_without_any_of_it_is_left_alone() -> None:
    class Nothing:
        """Has no attributes but these."""

        utils: Any = None
        main: Any = object()
        litellm_core_utils: Any = type("Core", (), {"get_model_cost_map": type("Map", (), {"GetModelCostMap": int})})

    spare_memory(Nothing)
