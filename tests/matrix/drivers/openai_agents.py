"""The Agents SDK: a streamed run, its tools run by itself."""

from typing import Any

import agents
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

from tests.matrix import words
from tests.matrix.drivers.driving import Task, Told, Weather, serve

EFFORT = Reasoning(effort="low", summary="auto")
THINKING = agents.ModelSettings(reasoning=EFFORT, response_include=["reasoning.encrypted_content"], store=False)


def tools(told: Told) -> dict[str, list[Any]]:
    """Its tools, by the names that cells call them. It cannot run a tool search on the client's side."""

    async def run_code(_context: Any, content: str) -> str:
        return told.run_code(content)

    def take_picture() -> agents.ToolOutputImage:
        """Takes a picture."""
        return agents.ToolOutputImage(image_url=words.PICTURE)

    look_up = agents.function_tool(told.weather, name_override="look_up")
    custom = words.TOOLS["custom"]
    return {
        "weather": [agents.function_tool(told.weather, name_override="get_weather")],
        "custom": [agents.CustomTool(custom["name"], custom["description"], run_code, format=custom["format"])],
        "namespace": agents.tool_namespace(name="sky", description="Of the sky.", tools=[look_up]),
        "picture": [agents.function_tool(take_picture)],
    }


async def drive(task: Task, told: Told) -> None:
    prompt: list[Any] = [words.SAID, *[words.IMAGE] * task.picture]
    async with AsyncOpenAI(base_url=task.url, api_key="any", max_retries=task.retries, timeout=60) as client:
        agent = agents.Agent(
            "clerk",
            model=agents.OpenAIResponsesModel(task.model, client),
            model_settings=THINKING if task.thinks else agents.ModelSettings(),
            output_type=Weather if task.schema else None,
            tools=[tool for name in task.tools for tool in tools(told)[name]],
        )
        quiet = agents.RunConfig(tracing_disabled=True)
        result = agents.Runner.run_streamed(agent, [{"role": "user", "content": prompt}], run_config=quiet)
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                hear(event.data, told)
    thoughts = [item.raw_item for item in result.new_items if item.type == "reasoning_item"]
    told["reasoning"] = "".join(part.text for thought in thoughts for part in thought.summary)
    told.read(result.final_output)


def hear(event: Any, told: Told) -> None:
    """The words of the last response, even if the run raises behind them."""
    if event.type == "response.created":
        told |= {"text": "", "refusal": ""}
    elif event.type == "response.output_text.delta":
        told["text"] += event.delta
    elif event.type == "response.refusal.delta":
        told["refusal"] += event.delta


if __name__ == "__main__":
    serve(drive)
