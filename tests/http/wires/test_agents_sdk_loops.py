"""The Agents SDK in a tool loop with a Claude that thinks between its calls: all its thoughts come back in place."""

import pytest
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

from tests.http.wires.lanes import Wired
from tests.support.agents_sdk import agents_sdk
from tests.wire.servers import Answer, Calls, Hides, Says, Thinks

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


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_agents_sdk_goes_through_a_tool_loop(everything: Wired, *, stream: bool) -> None:
    sdk, wire = agents_sdk(), everything.wires[LANE]
    quiet = sdk.RunConfig(tracing_disabled=True)
    wire.say(*LOOP)
    cities: list[str] = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "21 degrees"

    async with AsyncOpenAI(base_url=f"{everything.url}/v1", api_key="any", max_retries=0) as client:
        settings = sdk.ModelSettings(
            reasoning=Reasoning(effort="low", summary="auto"),
            store=False,
            response_include=["reasoning.encrypted_content"],
        )
        model = sdk.OpenAIResponsesModel(LANE, client)
        agent = sdk.Agent("forecaster", model=model, tools=[sdk.function_tool(get_weather)], model_settings=settings)
        if stream:
            running = sdk.Runner.run_streamed(agent, "Rome?", run_config=quiet)
            async for _ in running.stream_events():
                pass
            output = running.final_output
        else:
            output = (await sdk.Runner.run(agent, "Rome?", run_config=quiet)).final_output
    assert (output, sorted(cities), len(wire.asks), wire.violations) == ("Fine.", ["Oslo", "Rome", "Zürich"], 3, [])
