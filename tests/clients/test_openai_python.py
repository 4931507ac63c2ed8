"""The openai package for Python: what it makes of every behaviour, plain and asynchronous, whole and streamed."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import AsyncOpenAI, InternalServerError, OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseInputItemParam
from pydantic import BaseModel

from tests.support.demo_behaviours import BEHAVIOURS, CALLED_WITH, TOOL_SAID, WEATHER, Behaviour
from tests.wire.event_stream import judged
from tests.wire.foreign_judges import judge_response

ALL = pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
QUESTION = "the weather in Paris"


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int
    sunny: bool


FORECAST = Weather(city="demo", degrees=1, sunny=True)


@pytest.fixture
def client(demo_url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
async def async_client(demo_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client:
        yield client


def asked(behaviour: Behaviour) -> dict[str, Any]:
    return {"model": "demo", "input": behaviour.prompt, "tools": behaviour.tools}


@contextmanager
def fails_if_it_must(behaviour: Behaviour) -> Iterator[None]:
    """A whole response that failed is raised, as an error that the package would try again."""
    if behaviour.status != "failed":
        yield
        return
    with pytest.raises(InternalServerError) as caught:
        yield
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_error")


def check_end(response: Response, behaviour: Behaviour) -> None:
    judge_response(response.to_dict())
    assert (response.status, [item.type for item in response.output]) == (behaviour.status, behaviour.items)


def wire(event: BaseModel) -> dict[str, Any]:
    """An event as it was sent: of the package's own making is only that its clocks are floats."""
    result = event.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for clock in ("created_at", "completed_at"):
        if "response" in result and result["response"][clock] is not None:
            result["response"][clock] = int(result["response"][clock])
    return result


@ALL
def test_create_gives_the_whole_response(client: OpenAI, behaviour: Behaviour) -> None:
    with fails_if_it_must(behaviour):
        check_end(client.responses.create(**asked(behaviour)), behaviour)


@ALL
def test_create_with_stream_tells_every_event(client: OpenAI, behaviour: Behaviour) -> None:
    """What the package read is what the judges are shown: nothing was lost on its way through its types."""
    with client.responses.create(**asked(behaviour), stream=True) as stream:
        events = [wire(event) for event in stream]
    judged(events)
    assert events[-1]["type"] == behaviour.last_event


@ALL
def test_the_stream_helper_puts_every_stream_together(client: OpenAI, behaviour: Behaviour) -> None:
    with client.responses.stream(**asked(behaviour)) as stream:
        events = list(stream)
        if behaviour.status == "completed":
            check_end(stream.get_final_response(), behaviour)
    assert events[-1].type == behaviour.last_event
    texts = [event for event in events if event.type == "response.output_text.done"]
    snapshots = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    assert [text.text for text in texts] == snapshots[-1:]


@ALL
async def test_the_async_client_hears_the_same(async_client: AsyncOpenAI, behaviour: Behaviour) -> None:
    with fails_if_it_must(behaviour):
        check_end(await async_client.responses.create(**asked(behaviour)), behaviour)
    async with await async_client.responses.create(**asked(behaviour), stream=True) as stream:
        events = [wire(event) async for event in stream]
    judged(events)
    async with async_client.responses.stream(**asked(behaviour)) as helped:
        assert [event.type async for event in helped] == [event["type"] for event in events]


def test_parse_fills_a_pydantic_model(client: OpenAI) -> None:
    response = client.responses.parse(model="demo", input="the forecast", text_format=Weather)
    assert response.output_parsed == FORECAST


def test_a_streamed_structure_is_parsed_at_its_end(client: OpenAI) -> None:
    with client.responses.stream(model="demo", input="the forecast", text_format=Weather) as stream:
        parsed = [event.parsed for event in stream if event.type == "response.output_text.done"]
        assert stream.get_final_response().output_parsed == FORECAST
    assert parsed == [FORECAST]


def answered(response: Response) -> list[ResponseInputItemParam]:
    """The history after one call, as the package's own guide builds it."""
    [call] = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
    assert (call.name, call.arguments) == ("get_weather", CALLED_WITH)
    history: list[Any] = [{"role": "user", "content": QUESTION}, *response.output]
    return [*history, {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}]


@pytest.mark.parametrize("question", [QUESTION, f"think about {QUESTION}"])
def test_a_tool_loop_closes_in_two_turns(client: OpenAI, question: str) -> None:
    tools: Any = [WEATHER]
    first = client.responses.create(model="demo", input=question, tools=tools)
    second = client.responses.create(model="demo", input=answered(first), tools=tools)
    assert second.output_text == TOOL_SAID


def test_a_streamed_tool_loop_closes_in_two_turns(client: OpenAI) -> None:
    tools: Any = [WEATHER]
    with client.responses.stream(model="demo", input=QUESTION, tools=tools) as stream:
        first = stream.get_final_response()
    with client.responses.stream(model="demo", input=answered(first), tools=tools) as stream:
        assert stream.get_final_response().output_text == TOOL_SAID


def test_models_are_listed_and_shown(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["demo", "gpt-5"]
    assert client.models.retrieve("gpt-5").id == "gpt-5"
