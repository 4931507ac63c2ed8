"""Settings that a provider does not know: litellm leaves them out, with a warning."""

import json
from typing import Any

import httpx
import pytest

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.script import text_turn
from tests.support.servers import AnthropicUpstream, ChatUpstream
from tests.support.servers import anthropic as claude
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("litellm")

SCRIPT = [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]
HISTORY: dict[str, Any] = {
    "model": "m",
    "input": "Hi",
    "temperature": 0.5,
    "presence_penalty": 0.5,
    "text": {"verbosity": "low"},
    "top_logprobs": 2,
}
EXPECTED = [f"'{name}' has no effect on this model." for name in ("text.verbosity", "presence_penalty", "top_logprobs")]


def settings(url: str, provider: str | None, *, strict: bool = False) -> Settings:
    return Settings(
        server=Server(strict=strict),
        upstreams={"there": Upstream(provider=provider, base_url=url, api_key=Secret("sk-of-the-upstream"))},
        models={"m": Model(upstream="there", name="claude-sonnet-4-5")},
    )


@pytest.mark.parametrize("stream", [True, False])
def test_what_a_provider_does_not_know_is_told_by_the_names_the_client_used(*, stream: bool) -> None:
    with AnthropicUpstream(SCRIPT) as upstream, serving(settings(upstream.url, "anthropic")) as url:
        answer = httpx.post(f"{url}/v1/responses", json={**HISTORY, "stream": stream}, timeout=20)
    assert answer.status_code == 200
    assert json.loads(answer.headers["x-am-warnings"]) == EXPECTED
    assert upstream.asks[0].body["temperature"] == 0.5


def test_a_strict_server_does_not_ask_then() -> None:
    with AnthropicUpstream() as upstream, serving(settings(upstream.url, "anthropic", strict=True)) as url:
        answer = httpx.post(f"{url}/v1/responses", json=HISTORY, timeout=20)
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        400,
        f"This server is strict. {' '.join(EXPECTED)}",
    )
    assert upstream.asks == []


def test_a_plain_chat_server_is_told_everything() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, serving(settings(upstream.url, None)) as url:
        answer = httpx.post(f"{url}/v1/responses", json=HISTORY, timeout=20)
    assert answer.status_code == 200
    assert "x-am-warnings" not in answer.headers
    assert upstream.asks[0].body["verbosity"] == "low"


def test_a_hint_that_litellm_leaves_out_is_no_warning() -> None:
    hints = {"prompt_cache_key": "k", "service_tier": "flex"}
    with AnthropicUpstream(SCRIPT) as upstream:
        configured = settings(upstream.url, "anthropic")
        there = configured.upstreams["there"].model_copy(update={"hints": tuple(hints)})
        with serving(Settings(upstreams={"there": there}, models=configured.models)) as url:
            answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", **hints}, timeout=20)
    assert json.loads(answer.headers["x-am-warnings"]) == ["'service_tier' has no effect on this model."]
    assert upstream.asks[0].body.keys().isdisjoint(hints)
