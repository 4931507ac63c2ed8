"""The Agents SDK: a run with a function tool, whole and streamed, that ends with what the tool gave."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel

from tests.support.agents_sdk import agents_sdk
from tests.support.demo_behaviours import TOOL_SAID

ITEMS = ["tool_call_item", "tool_call_output_item", "message_output_item"]


def quiet() -> Any:
    """Nothing is told to a server of OpenAI."""
    return agents_sdk().RunConfig(tracing_disabled=True)


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int


@pytest.fixture
async def model(demo_url: str) -> AsyncIterator[Any]:
    async with AsyncOpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client:
        yield agents_sdk().OpenAIResponsesModel("demo", client)


@pytest.fixture
def asked_for() -> list[str]:
    """The cities that the tool was asked for."""
    return []


@pytest.fixture
def weather(asked_for: list[str]) -> Any:
    def get_weather(city: str) -> str:
        """The weather of a city."""
        asked_for.append(city)
        return "21 degrees"

    return agents_sdk().function_tool(get_weather)


async def test_an_agent_that_thinks_gives_its_thoughts_back_with_the_call(
    model: Any, weather: Any, asked_for: list[str]
) -> None:
    settings = agents_sdk().ModelSettings(reasoning=Reasoning(effort="low", summary="auto"), store=False)
    agent = agents_sdk().Agent("forecaster", model=model, tools=[weather], model_settings=settings)
    result = await agents_sdk().Runner.run(agent, "the weather in Paris", run_config=quiet())
    assert (result.final_output, asked_for) == (TOOL_SAID, ["demo"])
    thinks = "reasoning_item"
    assert [item.type for item in result.new_items] == [thinks, *ITEMS[:2], thinks, ITEMS[2]]


async def test_an_agent_gets_its_structured_output(model: Any) -> None:
    agent = agents_sdk().Agent("forecaster", model=model, output_type=Weather)
    result = await agents_sdk().Runner.run(agent, "the forecast", run_config=quiet())
    assert result.final_output == Weather(city="demo", degrees=1)


async def test_an_agent_hands_over_to_another(model: Any) -> None:
    """A handoff is a function like any other; the second agent is told the whole history."""
    poet = agents_sdk().Agent("poet", model=model)
    clerk = agents_sdk().Agent("clerk", model=model, handoffs=[poet])
    result = await agents_sdk().Runner.run(clerk, "transfer me to somebody else", run_config=quiet())
    assert result.last_agent.name == "poet"
