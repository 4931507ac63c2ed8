"""litellm calculates no prices here, which nobody would read."""

from typing import Any

import pytest

from app.upstreams.litellm_chat import LitellmChat, load
from tests.support.upstream_asks import KEY, answer_of, answers, asks, server
from tests.wire.script import text_turn
from tests.wire.servers import Step
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

pytestmark = pytest.mark.xdist_group("litellm")

TALKING: dict[str | None, list[Step]] = {
    None: [*text_turn("Hi")],
    "groq": [*text_turn("Hi")],
    "anthropic": [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()],
    "gemini": [candidate({"text": "Hi"})],
}


@pytest.mark.parametrize("provider", TALKING)
async def test_no_price_is_calculated_for_an_answer(provider: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    calculated: list[Any] = []
    logging = load().litellm_core_utils.litellm_logging.Logging
    monkeypatch.setattr(logging, "response_cost_calculator", lambda *_, **told: calculated.append(told))
    with server(provider, TALKING[provider]) as upstream:
        chunks, problem = await answers(LitellmChat(provider, api_key=KEY, base_url=upstream.url), asks(provider))
    assert problem is None
    assert answer_of(chunks)["text"] == "Hi"
    assert calculated == []
