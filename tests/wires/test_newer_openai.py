"""OpenAI's newest models think beside tools in the Responses API only. litellm asks that for them, by itself."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from openai import OpenAI

from app.settings import Model, Secret, Settings, Upstream
from tests.support.providers import openai_is_here
from tests.support.serving import serving
from tests.support.tool_loops import Loop, calls_of
from tests.wire.servers import KEY, Ask, ResponsesUpstream, Step
from tests.wire.servers import responses as say

pytestmark = [
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # of litellm's own objects
]

Json = dict[str, Any]
THOUGHT: Final = say.reasoning("rs_1", "Rome", " first.", encrypted="c2VhbGVk")


def first(ask: Ask) -> list[Step]:
    """As OpenAI does: what is to be carried is told only to those who ask for it."""
    thought = THOUGHT
    if "reasoning.encrypted_content" not in ask.body.get("include", []):
        done = {key: value for key, value in thought.done.items() if key != "encrypted_content"}
        thought = thought._replace(done=done)
    return [*say.answer(thought, say.call("fc_1", "call_1", "get_weather", '{"city":', ' "Rome"}'))]


@pytest.fixture
def upstream() -> Iterator[ResponsesUpstream]:
    with ResponsesUpstream(first, say.answer(say.message("msg_1", "Fine."))) as upstream:
        yield upstream


@pytest.fixture
def client(upstream: ResponsesUpstream) -> Iterator[OpenAI]:
    openai = Upstream(provider="openai", base_url=upstream.url, api_key=Secret(KEY))
    settings = Settings(upstreams={"openai": openai}, models={"gpt-5.4": Model(upstream="openai")})
    with (
        openai_is_here(),
        serving(settings) as url,
        OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
    ):
        yield client


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_it_keeps_nothing_there_and_carries_its_thoughts(
    upstream: ResponsesUpstream,
    client: OpenAI,
    stream: bool,  # noqa: FBT001 — one of the two ways to ask
) -> None:
    loop = Loop(client, "gpt-5.4", [], stream)
    called = loop.ask({"role": "user", "content": "Rome?"})
    assert [call.arguments for call in calls_of(called)] == ['{"city": "Rome"}']
    assert loop.ask(*loop.run(called)).output_text == "Fine."
    assert [ask.body["store"] for ask in upstream.asks] == [False, False]
    _, thought, call, output = upstream.asks[1].body["input"]
    assert {key: thought[key] for key in ("id", "encrypted_content")} == {"id": "rs_1", "encrypted_content": "c2VhbGVk"}
    assert call["call_id"] == output["call_id"]
