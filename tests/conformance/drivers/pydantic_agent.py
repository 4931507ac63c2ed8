"""Pydantic AI over its `OpenAIResponsesModel`, streamed."""

from collections.abc import Sequence
from typing import Any

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelHTTPError, NativeOutput, Tool  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.capabilities import ToolSearch  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.models.openai import OpenAIResponsesModel  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.profiles.openai import openai_model_profile  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found]  # it has an environment of its own
from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found]  # it has an environment of its own

from tests.conformance import lines
from tests.conformance.drivers.run_cells import Outcome, run_cells

PROFILE = openai_model_profile("gpt-5.4")
"""What to take the model for. Without it, tools are searched by an ordinary function, of whatever name is not known."""
THINKING = {"openai_reasoning_effort": "low", "openai_reasoning_summary": "auto"}


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int


def agent(url: str, model: str, retries: int = 0, **fields: Any) -> Any:
    client = AsyncOpenAI(base_url=url, api_key="any", max_retries=retries, timeout=120)
    provider = OpenAIProvider(openai_client=client)
    return Agent(OpenAIResponsesModel(model, provider=provider, profile=PROFILE), **fields)


async def run(url: str, model: str, prompt: Any = lines.PROMPT, retries: int = 0, **fields: Any) -> Any:
    """The result of a whole run, every model request streamed."""

    async def read_events(_context: Any, events: Any) -> None:
        async for _ in events:
            pass

    return await agent(url, model, retries, **fields).run(prompt, event_stream_handler=read_events)


async def text(url: str, model: str) -> Outcome:
    received_text = ""
    async with agent(url, model).run_stream(lines.PROMPT) as events:
        async for piece in events.stream_text(delta=True, debounce_by=None):
            received_text += piece
        read = await events.get_output()
    return {"text": read if received_text == read else f"{received_text!r} is not {read!r}"}


async def reasoning(url: str, model: str) -> Outcome:
    result = await run(url, model, model_settings=THINKING)
    parts = result.all_messages()[-1].parts
    return {"reasoning": "".join(p.content for p in parts if isinstance(p, ThinkingPart)), "text": result.output}


async def parallel(url: str, model: str, **fields: Any) -> Outcome:
    made: list[str] = []

    def get_weather(city: str) -> str:
        made.append(city)
        return lines.degrees(city)

    result = await run(url, model, tools=[get_weather], **fields)
    return {"calls": sorted(made), "text": result.output}


async def thoughts(url: str, model: str) -> Outcome:
    return await parallel(url, model, model_settings=THINKING)


async def search(url: str, model: str) -> Outcome:
    received: Outcome = {"calls": []}

    def get_weather(city: str) -> str:
        received["calls"].append(city)
        return lines.degrees(city)

    def find(_context: Any, queries: Sequence[str], _tools: Sequence[ToolDefinition]) -> list[str]:
        received["query"] = queries[0]
        return [lines.WEATHER]

    tools = [Tool(get_weather, defer_loading=True)]
    result = await run(url, model, tools=tools, capabilities=[ToolSearch(strategy=find)])
    return {**received, "text": result.output}


async def schema(url: str, model: str) -> Outcome:
    result = await run(url, model, output_type=NativeOutput(Weather))
    return {"parsed": result.output.model_dump()}


def image() -> BinaryContent:
    found = BinaryContent.from_data_uri(lines.PICTURE)
    return BinaryContent(data=found.data, media_type=found.media_type)


async def picture(url: str, model: str) -> Outcome:
    return {"text": (await run(url, model, [lines.PROMPT, image()])).output}


async def picture_back(url: str, model: str) -> Outcome:
    def take_picture() -> BinaryContent:
        return image()

    return {"text": (await run(url, model, tools=[take_picture])).output}


async def refusal(url: str, model: str) -> Outcome:
    """It raises; the words are in what it raises."""
    try:
        return {"text": (await run(url, model)).output}
    except Exception as error:  # noqa: BLE001 — whatever it raises is what a program catches
        return {"refusal": lines.REFUSAL if lines.REFUSAL in f"{error} {vars(error)}" else repr(error)}


async def incomplete(url: str, model: str) -> Outcome:
    result = await run(url, model)
    return {"text": result.output, "ended": result.all_messages()[-1].provider_details["finish_reason"]}


async def failed_before(url: str, model: str) -> Outcome:
    try:
        await run(url, model)
    except ModelHTTPError as error:
        body: Any = error.body
        return {"error": body["message"], "code": body["code"]}
    return {}


async def failed_in(url: str, model: str) -> Outcome:
    received_text = ""

    async def read_events(_context: Any, events: Any) -> None:
        nonlocal received_text
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                received_text += event.part.content
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                received_text += event.delta.content_delta

    try:
        await agent(url, model).run(lines.PROMPT, event_stream_handler=read_events)
    except Exception as error:  # noqa: BLE001 — whatever it raises is what a program catches
        result = f"{error} {vars(error)}"
        return {"text": received_text, "error": result, "code": "server_error" if "server_error" in result else None}
    return {"text": received_text}


async def wait(url: str, model: str) -> Outcome:
    return {"text": (await run(url, model, retries=2)).output}


if __name__ == "__main__":
    run_cells(
        {
            "text": text,
            "reasoning": reasoning,
            "parallel": parallel,
            "thoughts": thoughts,
            "search": search,
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
