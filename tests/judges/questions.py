"""What any server is asked. Many questions are those of the published suite of Open Responses, under its names."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

from . import client_rules as rules
from . import judge_cut_answers
from .client import BrokenError, Client, Json, Socket

Question = Callable[[Client], Awaitable[None]]
Answer = TypeVar("Answer")

_RED: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAA"
    "AABJRU5ErkJggg=="
)
_WEATHER: Final = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a place.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
_SAY: Final = {
    "type": "custom",
    "name": "say",
    "description": "Says a sentence to the user. Its input is the sentence, as plain text.",
}
_SHORT: Final = 16
"""Tokens. OpenAI's server takes no smaller limit."""
_WHICH_WEATHER: Final = "What's the weather like in San Francisco?"
_NOT_FOUND: Final = "previous_response_not_found"
_NOT_THERE: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


def _says(role: str, text: str, **more: Any) -> Json:
    return {"type": "message", "role": role, "content": text, **more}


_COUNT: Final = _says("user", "Count from 1 to 500, in words.")


def _calls(output: Any, kind: str = "function_call") -> list[Json]:
    items = output if isinstance(output, list) else []
    return [item for item in items if isinstance(item, dict) and item.get("type") == kind]


async def _offered(name: str, answer: Awaitable[Answer]) -> Answer:
    """The answer to a request that a server need not understand: that it is refused is a note."""
    try:
        return await answer
    except BrokenError as broken:
        if broken.finding.rule is not rules.ANSWERED:
            raise
        raise BrokenError(rules.NOT_OFFERED, f"{name}: {broken}", broken.finding.quote) from None


def _done_items(events: list[Json]) -> list[Json]:
    done = [event["item"] for event in events if event["type"] == "response.output_item.done" and "item" in event]
    return [item for item in done if isinstance(item, dict)]


async def _basic_response(client: Client) -> None:
    await client.completed(_says("user", "Say hello in exactly 3 words."))


async def _assistant_phase(client: Client) -> None:
    history = [_says("assistant", "I should look.", phase="commentary"), _says("assistant", "4", phase="final_answer")]
    await client.completed(*history, _says("user", "Repeat only the number."))


async def _streaming_response(client: Client) -> None:
    await client.streamed(_says("user", "Count from 1 to 5."))


async def _system_prompt(client: Client) -> None:
    await client.completed(_says("system", "You are a pirate."), _says("user", "Say hello."))


async def _multi_turn(client: Client) -> None:
    before = [_says("user", "My name is Alice."), _says("assistant", "Hello Alice!")]
    await client.completed(*before, _says("user", "What is my name?"))


async def _image_input(client: Client) -> None:
    picture = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": _RED}]
    await _offered("images", client.completed({"type": "message", "role": "user", "content": picture}))


async def _tool_calling(client: Client) -> None:
    body = await client.completed(_says("user", _WHICH_WEATHER), tools=[_WEATHER])
    if not _calls(body.get("output")):
        raise BrokenError(rules.CALLED, "the model did not call the tool", body)


async def _streamed_call(client: Client) -> None:
    question = _says("user", _WHICH_WEATHER)
    events = await client.streamed(question, tools=[_WEATHER], tool_choice="required")
    items = _done_items(events)
    calls = _calls(items)
    if not calls:
        raise BrokenError(rules.CALLED, "no call was streamed, though one was required", events[-1] if events else "")
    outputs = [
        {"type": "function_call_output", "call_id": call.get("call_id"), "output": "Sunny, 20 degrees."}
        for call in calls
    ]
    await client.streamed(question, *items, *outputs, tools=[_WEATHER])


async def _custom_tool(client: Client) -> None:
    question = _says("user", "Say good morning, with the tool.")
    asked = client.streamed(question, tools=[_SAY], tool_choice="required")
    items = _done_items(await _offered("custom tools, of which apply_patch of Codex is one", asked))
    if functions := [call for call in _calls(items) if call.get("name") == _SAY["name"]]:
        raise BrokenError(rules.CUSTOM_CALL, "it is a function_call", functions[0])
    calls = _calls(items, "custom_tool_call")
    if not calls:
        raise BrokenError(rules.CALLED, "no custom tool was called, though a call was required", items)
    outputs = [
        {"type": "custom_tool_call_output", "call_id": call.get("call_id"), "output": "It was said."} for call in calls
    ]
    await client.streamed(question, *items, *outputs, tools=[_SAY])


async def _cut_answer(client: Client) -> None:
    whole = await _offered("max_output_tokens", client.completed(_COUNT, max_output_tokens=_SHORT))
    events = await client.streamed(_COUNT, max_output_tokens=_SHORT + 4)
    streamed = events[-1].get("response") if events else None
    if isinstance(streamed, dict):
        client.found += judge_cut_answers([(whole, _SHORT), (streamed, _SHORT + 4)])


async def _compacted(client: Client, *items: Json) -> list[Json]:
    answer = await client.asked("POST", "/responses/compact", {"model": client.model, "input": list(items)})
    if answer.status in _NOT_THERE:
        raise BrokenError(rules.NOT_OFFERED, "there is no /responses/compact", answer.body)
    output = answer.body.get("output") if isinstance(answer.body, dict) else None
    kinds = [item.get("type") for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    if answer.status != HTTPStatus.OK or not isinstance(output, list) or kinds.count("compaction") != 1:
        raise BrokenError(rules.ANSWERED, f"status {answer.status}, without one compaction item", answer.body)
    return output


async def _compact_response(client: Client) -> None:
    await _compacted(client, _says("user", "We launch on Tuesday."), _says("assistant", "Understood, on Tuesday."))


async def _compact_missing_model(client: Client) -> None:
    body = {"input": [_says("user", "Sum this up.")]}
    answer = await client.asked("POST", "/responses/compact", body)
    if answer.status in _NOT_THERE:
        raise BrokenError(rules.NOT_OFFERED, "there is no /responses/compact", answer.body)
    error = answer.body.get("error") if isinstance(answer.body, dict) else None
    if answer.status != HTTPStatus.BAD_REQUEST or not isinstance(error, dict) or error.get("param") != "model":
        raise BrokenError(rules.ANSWERED, f"status {answer.status}, where a 400 must name the param model", answer.body)


async def _invalid_json(client: Client) -> None:
    await client.refused(b'{"model":')


async def _invalid_input(client: Client) -> None:
    await client.refused({"model": client.model, "input": 7})


async def _invalid_stream(client: Client) -> None:
    await client.refused({"model": client.model, "input": 7, "stream": True})


async def _leaving(client: Client) -> None:
    await client.left(_COUNT)
    try:
        await client.completed(_says("user", "Say hello."))
    except BrokenError as broken:
        if broken.finding.rule is not rules.ANSWERED:
            raise
        raise BrokenError(rules.AFTER_LEAVING, str(broken), broken.finding.quote) from None


async def _begun(socket: Socket, text: str) -> Json:
    """A response that can be continued."""
    response = await socket.completed(input=text)
    if response.get("id") == "":  # so that Codex, for one, sends the whole conversation
        raise BrokenError(rules.NOT_OFFERED, "no response can be continued: the id is empty", response)
    return response


async def _websocket_response(client: Client) -> None:
    async with client.websocket() as socket:
        await socket.completed(input=[_says("user", "Count from 1 to 3.")])


async def _websocket_sequential(client: Client) -> None:
    async with client.websocket() as socket:
        answers = [await _begun(socket, f"Reply with exactly: {word}") for word in ("first", "second")]
    if answers[0].get("id") == answers[1].get("id"):
        raise BrokenError(rules.RESPONSE_ID_REUSED, "two responses have the same id", answers[1])


async def _websocket_continuation(client: Client) -> None:
    async with client.websocket() as socket:
        first = await _begun(socket, "Remember the code word: cobalt. Reply with OK.")
        second = await socket.completed(input="What is the code word?", previous_response_id=first.get("id"))
    if second.get("previous_response_id") != first.get("id"):
        raise BrokenError(rules.CONTINUED, f"it is {second.get('previous_response_id')!r}", second)


async def _websocket_reconnect(client: Client) -> None:
    async with client.websocket() as socket:
        first = await _begun(socket, "Remember the code word: copper.")
    async with client.websocket() as socket:
        await socket.refused(_NOT_FOUND, input="Go on.", previous_response_id=first.get("id"))
        await socket.completed(input=[_says("user", "Begin again.")])


async def _websocket_not_found(client: Client) -> None:
    async with client.websocket() as socket:
        await socket.refused(_NOT_FOUND, input="Hi", previous_response_id="resp_missing_1")


async def _websocket_evicts(client: Client) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_missing", "output": "There is no such call."}
    async with client.websocket() as socket:
        first = await _begun(socket, "Remember the code word: ember.")
        await socket.refused(input=[orphan], previous_response_id=first.get("id"))
        await socket.refused(_NOT_FOUND, input="Go on.", previous_response_id=first.get("id"))


async def _websocket_compact(client: Client) -> None:
    history = [_says("user", "Remember the code word: slate."), _says("assistant", "OK."), _says("user", "Sum it up.")]
    window = await _compacted(client, *history)
    async with client.websocket() as socket:
        response = await socket.completed(input=[*window, _says("user", "Go on from here.")], tools=[])
    if response.get("previous_response_id") is not None:
        raise BrokenError(rules.CONTINUED, "a new conversation names an earlier response", response)


QUESTIONS: Final[Mapping[str, Question]] = {
    "basic-response": _basic_response,
    "assistant-phase": _assistant_phase,
    "system-prompt": _system_prompt,
    "multi-turn": _multi_turn,
    "image-input": _image_input,
    "tool-calling": _tool_calling,
    "streaming-response": _streaming_response,
    "streamed-call": _streamed_call,
    "custom-tool": _custom_tool,
    "cut-answer": _cut_answer,
    "compact-response": _compact_response,
    "compact-missing-model": _compact_missing_model,
    "invalid-json": _invalid_json,
    "invalid-input": _invalid_input,
    "invalid-stream": _invalid_stream,
    "leaving": _leaving,
}
OVER_WEBSOCKET: Final[Mapping[str, Question]] = {
    "websocket-response": _websocket_response,
    "websocket-sequential-responses": _websocket_sequential,
    "websocket-continuation": _websocket_continuation,
    "websocket-reconnect-store-false-recovery": _websocket_reconnect,
    "websocket-previous-response-not-found": _websocket_not_found,
    "websocket-failed-continuation-evicts-cache": _websocket_evicts,
    "websocket-compact-new-chain": _websocket_compact,
}
