"""The Agents SDK in a tool loop with a Claude that thinks between its calls: all its thoughts come back in place."""

import pytest
from agents import Agent, ModelSettings, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

from tests.support.provider_lanes import Wired
from tests.support.servers import Answer, Calls, Hides, Says, Thinks

pytestmark = pytest.mark.xdist_group("litellm")

LOOP: list[Answer] = [
    [
        Thinks("Look."),
        Hides("Hm."),
        Says("Let me look."),
        Calls("get_weather", '{"city":"Rome"}'),
        Thinks("And there."),
        Calls("get_weather", '{"city":"Zürich"}'),
    ],
    [Thinks("Once more."), Calls("get_weather", '{"city":"Oslo"}')],
    [Says("Fine.")],
]
LANE = "anthropic, as messages"
QUIET = RunConfig(tracing_disabled=True)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_agents_sdk_goes_through_a_tool_loop(everything: Wired, *, stream: bool) -> None:
    wire = everything.wires[LANE]
    wire.say(*LOOP)
    cities: list[str] = []

    @function_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "21 degrees"

    async with AsyncOpenAI(base_url=f"{everything.url}/v1", api_key="any", max_retries=0) as client:
        settings = ModelSettings(
            reasoning=Reasoning(effort="low", summary="auto"),
            store=False,
            response_include=["reasoning.encrypted_content"],
        )
        model = OpenAIResponsesModel(LANE, client)
        agent = Agent("forecaster", model=model, tools=[get_weather], model_settings=settings)
        if stream:
            running = Runner.run_streamed(agent, "Rome?", run_config=QUIET)
            async for _ in running.stream_events():
                pass
            output = running.final_output
        else:
            output = (await Runner.run(agent, "Rome?", run_config=QUIET)).final_output
    assert (output, sorted(cities), len(wire.asks), wire.violations) == ("Fine.", ["Oslo", "Rome", "Zürich"], 3, [])
