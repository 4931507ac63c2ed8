"""Pydantic AI over its `OpenAIResponsesModel`, streamed."""

from collections.abc import Sequence
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent, BinaryContent, NativeOutput, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.profiles.openai import openai_model_profile
from pydantic_ai.providers.openai import OpenAIProvider

from tests.matrix import words
from tests.matrix.drivers.driving import Task, Told, Weather, serve

PROFILE = openai_model_profile("gpt-5.4")
"""What to take the model for. Without it, tools are searched by an ordinary function, of whatever name is not known."""
THINKING = {"openai_reasoning_effort": "low", "openai_reasoning_summary": "auto"}


async def drive(task: Task, told: Told) -> None:
    def find(_context: Any, queries: Sequence[str], _tools: Any) -> list[str]:
        [told["query"]] = queries
        return ["get_weather"]

    def take_picture() -> Any:
        return BinaryContent.from_data_uri(words.PICTURE)

    async def hear(_context: Any, events: Any) -> None:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                told["text"] = event.part.content
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                told["text"] += event.delta.content_delta

    tools = {
        "weather": Tool(told.weather, name="get_weather"),
        "search": Tool(told.weather, name="get_weather", defer_loading=True),
        "picture": Tool(take_picture),
    }
    async with AsyncOpenAI(base_url=task.url, api_key="any", max_retries=task.retries, timeout=60) as client:
        agent = Agent(
            OpenAIResponsesModel(task.model, provider=OpenAIProvider(openai_client=client), profile=PROFILE),
            model_settings=THINKING if task.thinks else None,
            output_type=NativeOutput(Weather) if task.schema else str,
            tools=[tools[name] for name in task.tools],
            capabilities=[ToolSearch(strategy=find)] if "search" in task.tools else [],
        )
        prompt = [words.PROMPT, *([take_picture()] if task.picture else [])]
        result = await agent.run(prompt, event_stream_handler=hear)
    parts = [part for message in result.all_messages() for part in message.parts]
    told["reasoning"] = "".join(part.content for part in parts if isinstance(part, ThinkingPart))
    ended = result.all_messages()[-1].provider_details["finish_reason"]
    told["ended"] = ended if ended != "completed" else ""
    told.read(result.output)


if __name__ == "__main__":
    serve(drive)
