"""The openai package's `responses.connect()`: a tool loop over one connection, in which a turn is only what is new."""

import json
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseFunctionToolCall

from tests.support.demo_behaviours import TOOL_SAID, WEATHER
from tests.wire.event_stream import judged

CREATE: dict[str, Any] = {"type": "response.create", "model": "demo", "store": False, "tools": [WEATHER]}
LAST = {"response.completed", "response.incomplete", "response.failed"}


def wire(event: Any) -> dict[str, Any]:
    """An event as it was sent: of the package's own making is only that its clocks are floats."""
    result: dict[str, Any] = event.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for clock in ("created_at", "completed_at"):
        if result.get("response", {}).get(clock) is not None:
            result["response"][clock] = int(result["response"][clock])
    return result


def output_of(response: Any) -> dict[str, Any]:
    """What the client answers to the one call of a response."""
    [call] = response.output
    assert isinstance(call, ResponseFunctionToolCall)
    assert json.loads(call.arguments)
    output = {"type": "function_call_output", "call_id": call.call_id, "output": TOOL_SAID}
    return {"input": [output], "previous_response_id": response.id}


def check_loop(answers: list[list[Any]]) -> None:
    for events in answers:
        judged([wire(event) for event in events])
    assert TOOL_SAID in answers[-1][-1].response.output_text


async def test_a_tool_loop(demo_url: str) -> None:
    answers: list[list[Any]] = []
    async with (
        AsyncOpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client,
        client.responses.connect() as connection,
    ):
        first: Any = {**CREATE, "input": "weather in Paris"}
        await connection.send(first)
        events: list[Any] = []
        async for event in connection:
            events.append(event)
            if event.type in LAST:
                answers.append(events)
                if len(answers) == 2:
                    break
                second: Any = {**CREATE, **output_of(events[-1].response)}
                events = []
                await connection.send(second)
    check_loop(answers)


@pytest.mark.parametrize("previous", ["resp_unheard_of", "resp_AM-1-abcdefgh"])
def test_an_unknown_response_is_an_error_event_it_understands(demo_url: str, previous: str) -> None:
    with (
        OpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client,
        client.responses.connect() as connection,
    ):
        connection.response.create(model="demo", input="x", previous_response_id=previous)
        event: Any = connection.recv()
    assert (event.type, event.status, event.error["code"] if isinstance(event.error, dict) else event.error.code) == (
        "error",
        400,
        "previous_response_not_found",
    )
