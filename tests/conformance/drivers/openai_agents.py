"""The Agents SDK: a streamed run, its tools run by itself."""

from typing import Any

from agents import (
    Agent,
    CustomTool,
    ModelRefusalError,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolOutputImage,
    function_tool,
    tool_namespace,
)
from openai import APIStatusError, AsyncOpenAI
from openai.types.responses import ResponseRefusalDeltaEvent, ResponseTextDeltaEvent
from openai.types.shared import Reasoning
from pydantic import BaseModel

from tests.conformance import lines
from tests.conformance.drivers.run_cells import Outcome, run_cells

QUIET = RunConfig(tracing_disabled=True)
THINKING = ModelSettings(
    reasoning=Reasoning(effort="low", summary="auto"), response_include=["reasoning.encrypted_content"], store=False
)
DELTAS = (ResponseTextDeltaEvent, ResponseRefusalDeltaEvent)


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int


async def run(url: str, model: str, prompt: Any = lines.PROMPT, retries: int = 0, **fields: Any) -> Any:
    """A whole run and every raw event of it."""
    async with AsyncOpenAI(base_url=url, api_key="any", max_retries=retries, timeout=120) as client:
        agent = Agent("clerk", model=OpenAIResponsesModel(model, client), **fields)
        result = Runner.run_streamed(agent, prompt, run_config=QUIET)
        raw = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
    return result, raw


async def text(url: str, model: str) -> Outcome:
    result, raw = await run(url, model)
    received_text = "".join(event.delta for event in raw if event.type == "response.output_text.delta")
    read = result.final_output
    return {"text": read if received_text == read else f"{received_text!r} is not {read!r}"}


async def reasoning(url: str, model: str) -> Outcome:
    result, _ = await run(url, model, model_settings=THINKING)
    thought, message = result.new_items
    answer_text = "".join(part.text for part in thought.raw_item.summary)
    return {"reasoning": answer_text, "text": message.raw_item.content[0].text}


async def parallel(url: str, model: str, **fields: Any) -> Outcome:
    made: list[str] = []

    @function_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        made.append(city)
        return lines.degrees(city)

    result, _ = await run(url, model, tools=[get_weather], **fields)
    return {"calls": sorted(made), "text": result.final_output}


async def thoughts(url: str, model: str) -> Outcome:
    return await parallel(url, model, model_settings=THINKING)


async def custom(url: str, model: str) -> Outcome:
    made: list[str] = []

    async def run_code(_context: Any, content: str) -> str:
        made.append(content)
        return lines.RAN

    tool = CustomTool(name=lines.RUN, description="Runs a program.", on_invoke_tool=run_code, format={"type": "text"})
    result, _ = await run(url, model, tools=[tool])
    return {"input": "".join(made), "text": result.final_output}


async def namespace(url: str, model: str) -> Outcome:
    made: list[str] = []

    @function_tool
    def look_up(city: str) -> str:
        """The weather of a city."""
        made.append(city)
        return lines.degrees(city)

    tools = tool_namespace(name=lines.NAMESPACE, description="Of the sky.", tools=[look_up])
    result, _ = await run(url, model, tools=tools)
    return {"calls": made, "text": result.final_output}


async def schema(url: str, model: str) -> Outcome:
    result, _ = await run(url, model, output_type=Weather)
    return {"parsed": result.final_output.model_dump()}


async def picture(url: str, model: str) -> Outcome:
    parts = [
        {"type": "input_text", "text": lines.PROMPT},
        {"type": "input_image", "image_url": lines.PICTURE, "detail": "auto"},
    ]
    result, _ = await run(url, model, [{"role": "user", "content": parts}])
    return {"text": result.final_output}


async def picture_back(url: str, model: str) -> Outcome:
    @function_tool
    def take_picture() -> ToolOutputImage:
        """Takes a picture."""
        return ToolOutputImage(image_url=lines.PICTURE)

    result, _ = await run(url, model, tools=[take_picture])
    return {"text": result.final_output}


async def text_until_error(url: str, model: str) -> tuple[str, BaseException]:
    """What was said or refused until the run raised, and what it raised."""
    received_text = ""
    async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
        agent = Agent("clerk", model=OpenAIResponsesModel(model, client))
        result = Runner.run_streamed(agent, lines.PROMPT, run_config=QUIET)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event" and isinstance(event.data, DELTAS):
                    received_text += event.data.delta
        except Exception as error:  # noqa: BLE001 — whatever it raises is what a program catches
            return received_text, error
    raise AssertionError("the run did not raise")


async def refusal(url: str, model: str) -> Outcome:
    received, error = await text_until_error(url, model)
    if isinstance(error, ModelRefusalError):
        return {"refusal": error.refusal}
    return {"refusal": received, "ended": str(error)}


async def incomplete(url: str, model: str) -> Outcome:
    received, error = await text_until_error(url, model)
    return {"text": received, "ended": str(error)}


async def failed_before(url: str, model: str) -> Outcome:
    try:
        await run(url, model)
    except APIStatusError as error:
        return {"error": error.message, "code": error.code}
    return {}


async def failed_in(url: str, model: str) -> Outcome:
    received, error = await text_until_error(url, model)
    result = str(error)
    return {"text": received, "error": result, "code": "server_error" if "server_error" in result else None}


async def wait(url: str, model: str) -> Outcome:
    result, _ = await run(url, model, retries=2)
    return {"text": result.final_output}


if __name__ == "__main__":
    run_cells(
        {
            "text": text,
            "reasoning": reasoning,
            "parallel": parallel,
            "thoughts": thoughts,
            "custom": custom,
            "namespace": namespace,
            "schema": schema,
            "picture": picture,
            "picture_back": picture_back,
            "refusal": refusal,
            "incomplete": incomplete,
            "failed_before": failed_before,
            "failed_in": failed_in,
            "wait": wait,
            "cut": failed_in,
            "silence": text,
        }
    )
