"""What each of the 17 tests of the Open Responses compliance suite does, by its name there."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import httpx
import pytest

from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_compaction, judge_response
from tests.wire.sockets import opened

Json = dict[str, Any]

RED = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAA"
    "AABJRU5ErkJggg=="
)
NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")


def says(role: str, text: str, **more: Any) -> Json:
    return {"type": "message", "role": role, "content": text, **more}


def post(url: str, path: str = "", **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses{path}", json=body, timeout=10)


def completed(url: str, *items: Json, **fields: Any) -> Json:
    """A whole response, which both judges accept."""
    body: Json = post(url, model="demo", input=list(items), **fields).raise_for_status().json()
    judge_response(body)
    assert body["status"] == "completed"
    assert body["output"]
    return body


def summed_up(url: str, *items: Json) -> list[Json]:
    body = post(url, "/compact", model="demo", prompt_cache_key="test", input=list(items)).raise_for_status().json()
    judge_compaction(body)
    assert [item["type"] for item in body["output"]].count("compaction") == 1
    output: list[Json] = body["output"]
    return output


async def basic_response(url: str) -> None:
    completed(url, says("user", "Say hello in exactly 3 words."))


async def assistant_phase(url: str) -> None:
    history = [
        says("assistant", "I should look.", phase="commentary"),
        says("assistant", "Four.", phase="final_answer"),
    ]
    completed(url, *history, says("user", "Repeat only the number."))


async def response_output_phase_schema(url: str) -> None:
    body = completed(url, says("user", "Hi"))
    judge_response({**body, "output": [{**item, "phase": "final_answer"} for item in body["output"]]})


async def streaming_response(url: str) -> None:
    answer = post(url, model="demo", stream=True, input=[says("user", "Count from 1 to 5.")])
    assert judged(events_of(answer.content)).response["status"] == "completed"


async def websocket_response(url: str) -> None:
    async with opened(url) as client:
        events = await client.ask(model="demo", store=None, input=[says("user", "Count from 1 to 3.")])
    assert judged(events).response["status"] == "completed"


async def websocket_sequential_responses(url: str) -> None:
    async with opened(url) as client:
        answers = [await client.ask(model="demo", input=f"Reply with exactly: {word}") for word in ("first", "second")]
    assert len({judged(events).response["id"] for events in answers}) == 2


async def websocket_continuation(url: str) -> None:
    async with opened(url) as client:
        first = await client.id_of(model="demo", input="Remember the code word: cobalt. Reply with OK.")
        events = await client.ask(model="demo", input="What is the code word?", previous_response_id=first)
    assert judged(events).response["previous_response_id"] == first


async def websocket_reconnect_store_false_recovery(url: str) -> None:
    async with opened(url) as client:
        first = await client.id_of(model="demo", input="Remember the code word: copper.")
    async with opened(url) as client:
        assert await client.refusal(model="demo", input="Go on.", previous_response_id=first) == NOT_FOUND
        judged(await client.ask(model="demo", input=[says("user", "Begin anew.")]))


async def websocket_previous_response_not_found(url: str) -> None:
    async with opened(url) as client:
        assert await client.refusal(model="demo", input="Hi", previous_response_id="resp_missing_1") == NOT_FOUND


async def websocket_failed_continuation_evicts_cache(url: str) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_missing", "output": "There is no such call."}
    async with opened(url) as client:
        first = await client.id_of(model="demo", input="Remember the code word: ember.")
        status, _, _ = await client.refusal(model="demo", input=[orphan], previous_response_id=first)
        assert status == 400
        assert await client.refusal(model="demo", input="Go on.", previous_response_id=first) == NOT_FOUND


async def websocket_compact_new_chain(url: str) -> None:
    items = [says("user", "Remember the code word: slate."), says("assistant", "OK."), says("user", "Sum this up.")]
    window = summed_up(url, *items)
    async with opened(url) as client:
        events = await client.ask(model="demo", input=[*window, says("user", "Go on from here.")], tools=[])
    assert judged(events).response["previous_response_id"] is None


async def system_prompt(url: str) -> None:
    completed(url, says("system", "You are a pirate."), says("user", "Say hello."))


async def tool_calling(url: str) -> None:
    parameters = {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
    tool = {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": parameters}
    body = completed(url, says("user", "What's the weather like in San Francisco?"), tools=[tool])
    assert "function_call" in [item["type"] for item in body["output"]]


async def image_input(url: str) -> None:
    picture = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": RED}]
    completed(url, {"type": "message", "role": "user", "content": picture})


async def multi_turn(url: str) -> None:
    completed(
        url, says("user", "My name is Alice."), says("assistant", "Hello Alice!"), says("user", "What is my name?")
    )


async def compact_response(url: str) -> None:
    summed_up(url, says("user", "We launch on Tuesday."), says("assistant", "Understood, on Tuesday."))


async def compact_missing_model(url: str) -> None:
    answer = post(url, "/compact", input=[says("user", "Sum this up.")])
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")


TESTS: Final[list[Callable[[str], Awaitable[None]]]] = [
    basic_response,
    assistant_phase,
    response_output_phase_schema,
    streaming_response,
    websocket_response,
    websocket_sequential_responses,
    websocket_continuation,
    websocket_reconnect_store_false_recovery,
    websocket_previous_response_not_found,
    websocket_failed_continuation_evicts_cache,
    websocket_compact_new_chain,
    system_prompt,
    tool_calling,
    image_input,
    multi_turn,
    compact_response,
    compact_missing_model,
]


@pytest.mark.parametrize("passes", TESTS, ids=lambda test: test.__name__.replace("_", "-"))
async def test_the_suite_would_pass(demo_url: str, passes: Callable[[str], Awaitable[None]]) -> None:
    await passes(demo_url)
