"""What litellm's own parser makes of what each provider streams.

`--bless tests/wires/recordings/NAME` rewrites one; the diff is then the review. They and `STREAMS` are the contract
with litellm: its raw streams are no documented API, and a change in them fails here, by the name of the provider.
"""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import pytest

from app.upstreams import litellm_chat
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.litellm_chunks import chunks_of
from tests.http.wires.test_recordings import FIRST, compare, without_chance
from tests.support.provider_lanes import LANES
from tests.support.providers import openai_is_here
from tests.wire.servers import KEY

pytestmark = pytest.mark.xdist_group("litellm")

FOLDER: Final = Path(__file__).parent / "recordings"
STREAMS: Final = {
    "openai": "openai.AsyncStream",
    "deepseek": "litellm.llms.openai.chat.gpt_transformation.OpenAIChatCompletionStreamingHandler",
    "anthropic": "litellm.llms.anthropic.chat.handler.ModelResponseIterator",
    "cohere": "litellm.llms.cohere.common_utils.CohereV2ModelResponseIterator",
    "gemini": "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini.ModelResponseIterator",
    "mistral": "litellm.llms.mistral.chat.transformation.MistralChatResponseIterator",
    "ollama": "litellm.llms.ollama.chat.transformation.OllamaChatCompletionResponseIterator",
    "vllm": "app.upstreams.litellm_chunks.PlainAnswer",
    "openrouter": "litellm.llms.openrouter.chat.transformation.OpenRouterChatCompletionStreamingHandler",
}
"""What litellm reads each provider with. See `app/upstreams/litellm_chunks.py`, which knows them by these names.
What is asked as `app/upstreams/litellm_as_is.py` describes it is not read by litellm."""
PARSED: Final = ("anthropic", "gemini", "ollama")
"""Those whose chunks are litellm's; the others' lines are read by us."""


@pytest.mark.parametrize("lane", STREAMS)
async def test_litellm_reads_a_provider_as_it_did(
    lane: str, monkeypatch: pytest.MonkeyPatch, blessed: Path | None
) -> None:
    streams: list[str] = []

    async def watched(wrapper: Any) -> Any:
        async with aclosing(chunks_of(wrapper)) as chunks:
            async for chunk in chunks:
                yield chunk
        kind = type(getattr(wrapper, "completion_stream", wrapper))
        streams.append(f"{kind.__module__.removesuffix('._streaming')}.{kind.__name__}")

    monkeypatch.setattr(litellm_chat, "chunks_of", watched)
    kind, upstream, _ = LANES[lane]
    with openai_is_here(), kind().say(FIRST) as wire:
        chat = LitellmChat(upstream["provider"], api_key=KEY, base_url=wire.url)
        ask = {"model": kind.model, "messages": [{"role": "user", "content": "Rome?"}], "stream": True}
        async with aclosing(chat.open(ask)) as payloads:
            chunks = [json.dumps(payload, ensure_ascii=False) async for payload in payloads]
    await litellm_chat.close_connections()
    assert streams == [STREAMS[lane]], "litellm reads this provider with something else: see STREAMS"
    if lane in PARSED:
        text = without_chance("".join(f"{chunk}\n" for chunk in chunks))
        compare(FOLDER / lane / "1-chunks.jsonl", text, bless=blessed == FOLDER / lane)
