"""What goes over the wire to each provider and back, recorded: two asks of a tool loop, and their answers.

Each folder of `tests/wires/recordings` is one lane:

    1-ask.json, 2-ask.json         what the provider is asked: the path, and the body
    1-answer.txt, 2-answer.txt     what it streams, in its own wire format
    1-chunks.jsonl                 what litellm's own parser makes of the first, where one stands between

`pytest --bless` rewrites all of them; the diff is then the review. `1-chunks.jsonl` and `STREAMS` are the contract with
litellm: its raw streams are no documented API, and a change in them fails here, by the provider's name.
"""

import json
import re
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import pytest
from openai import OpenAI

from app.upstreams import litellm_chat
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.litellm_chunks import chunks_of
from tests.support.provider_lanes import LANES, Wired
from tests.support.providers import openai_is_here
from tests.support.servers import KEY, Answer, Calls, Hides, Says, Thinks
from tests.support.tool_loops import Loop

pytestmark = pytest.mark.xdist_group("litellm")

Json = dict[str, Any]

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
RECORDED: Final = (*STREAMS, "ollama, directly")

FIRST: Final[Answer] = [
    Thinks("Rome first."),
    Hides("Nobody may read this."),
    Says("Let me look."),
    Calls("get_weather", '{"city": "Rome"}'),
    Calls("get_weather", "{}"),
]
SECOND: Final[Answer] = [Thinks("Fine."), Says("It is fine.")]

MADE_UP: Final = re.compile(
    r"call_AM-\w{12}|call_[0-9a-f]{28,32}(?=\W|_)|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
"""Ids that litellm or we make up, where the provider gives none."""


def without_chance(text: str) -> str:
    """The text with made-up ids numbered as they come."""
    found = {made: f"made-up-{number}" for number, made in enumerate(dict.fromkeys(MADE_UP.findall(text)), 1)}
    return MADE_UP.sub(lambda match: found[match[0]], text)


def folder_of(lane: str) -> Path:
    return FOLDER / lane.replace(", ", "-")


def compare(file: Path, text: str, *, bless: bool) -> None:
    if bless:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    assert file.read_bytes().decode() == text


@pytest.mark.parametrize("lane", RECORDED)
def test_a_tool_loop_goes_over_the_wire_as_recorded(
    everything: Wired, client: OpenAI, lane: str, request: pytest.FixtureRequest
) -> None:
    wire = everything.wires[lane]
    wire.made = 0
    wire.say(FIRST, SECOND)
    loop = Loop(client, lane, [], stream=False)
    loop.ask(*loop.run(loop.ask({"role": "user", "content": "Rome and here?"})))
    assert wire.violations == []
    bless = bool(request.config.getoption("--bless"))
    folder = folder_of(lane)
    asked = [json.dumps({"path": ask.path, "body": ask.body}, indent=2, ensure_ascii=False) for ask in wire.asks]
    marked = without_chance("\0".join(asked)).split("\0")
    for number, (ask, text) in enumerate(zip(wire.asks, marked, strict=True), 1):
        compare(folder / f"{number}-ask.json", text + "\n", bless=bless)
        compare(folder / f"{number}-answer.txt", ask.told.decode(), bless=bless)


@pytest.mark.parametrize("lane", STREAMS)
async def test_litellm_reads_a_provider_as_it_did(
    lane: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
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
        compare(folder_of(lane) / "1-chunks.jsonl", text, bless=bool(request.config.getoption("--bless")))
