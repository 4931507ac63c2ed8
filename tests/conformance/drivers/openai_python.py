"""The openai package for Python: every stream put together by its own `.stream()` helper."""

import json
from typing import Any

from openai import APIStatusError, OpenAI
from pydantic import BaseModel

from tests.conformance import lines
from tests.conformance.drivers.run_cells import Outcome, run_cells

WEATHER: dict[str, Any] = {"type": "function", "name": lines.WEATHER, "parameters": lines.CITY, "strict": True}
LOOK_UP: dict[str, Any] = {"type": "function", "name": lines.LOOK_UP, "parameters": lines.CITY, "strict": False}
THINKING: dict[str, Any] = {
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}
USER: dict[str, Any] = {"role": "user", "content": lines.PROMPT}


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int


def client(url: str, retries: int = 0) -> OpenAI:
    return OpenAI(base_url=url, api_key="any", max_retries=retries, timeout=120)


def ask(url: str, model: str, retries: int = 0, **fields: Any) -> Any:
    """The final response, as the helper gathers it."""
    with client(url, retries).responses.stream(
        model=model, **{"input": lines.PROMPT, "store": False, **fields}
    ) as events:
        return events.get_final_response()


def text(url: str, model: str) -> Outcome:
    """Heard by its deltas and read from its end: the same."""
    with client(url).responses.stream(model=model, input=lines.PROMPT) as events:
        received_text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        read = events.get_final_response().output_text
    return {"text": read if received_text == read else f"{received_text!r} is not {read!r}"}


def reasoning(url: str, model: str) -> Outcome:
    response = ask(url, model, reasoning={"effort": "low", "summary": "auto"})
    thought, message = response.output
    return {"reasoning": "".join(part.text for part in thought.summary), "text": message.content[0].text}


def loop(url: str, model: str, tools: list[dict[str, Any]], answer: Any, **fields: Any) -> Any:
    """Ask again with what the tools gave until there is a message."""
    history: list[Any] = [USER]
    while True:
        response = ask(url, model, input=history, tools=tools, **fields)
        given = [answered for item in response.output if (answered := answer(item)) is not None]
        if not given:
            return response
        history += [*response.output, *given]


def output(call: Any, given: Any) -> dict[str, Any]:
    return {"type": f"{call.type}_output", "call_id": call.call_id, "output": given}


def parallel(url: str, model: str, **fields: Any) -> Outcome:
    made: list[str] = []

    def answer(item: Any) -> Any:
        if item.type != "function_call" or item.name != lines.WEATHER:
            return None
        made.append(json.loads(item.arguments)["city"])
        return output(item, lines.degrees(made[-1]))

    return {"text": loop(url, model, [WEATHER], answer, **fields).output_text, "calls": made}


def thoughts(url: str, model: str) -> Outcome:
    return parallel(url, model, **THINKING)


def custom(url: str, model: str) -> Outcome:
    made: list[str] = []

    def answer(item: Any) -> Any:
        if item.type != "custom_tool_call" or item.name != lines.RUN:
            return None
        made.append(item.input)
        return output(item, lines.RAN)

    tool = {"type": "custom", "name": lines.RUN, "description": "Runs a program.", "format": {"type": "text"}}
    response = loop(url, model, [tool], answer)
    return {"text": response.output_text, "input": "".join(made)}


def namespace(url: str, model: str) -> Outcome:
    made: list[str] = []

    def answer(item: Any) -> Any:
        if item.type != "function_call" or (item.namespace, item.name) != (lines.NAMESPACE, lines.LOOK_UP):
            return None
        made.append(json.loads(item.arguments)["city"])
        return output(item, lines.degrees(made[-1]))

    tool = {"type": "namespace", "name": lines.NAMESPACE, "description": "Of the sky.", "tools": [LOOK_UP]}
    return {"text": loop(url, model, [tool], answer).output_text, "calls": made}


def search(url: str, model: str) -> Outcome:
    result: Outcome = {"calls": []}

    def answer(item: Any) -> Any:
        if item.type == "tool_search_call":
            result["query"] = item.arguments["query"]
            found = {"type": "tool_search_output", "call_id": item.call_id, "tools": [WEATHER]}
            return {**found, "execution": "client", "status": "completed"}
        if item.type != "function_call" or item.name != lines.WEATHER:
            return None
        result["calls"].append(json.loads(item.arguments)["city"])
        return output(item, lines.degrees(result["calls"][-1]))

    tool = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": lines.QUERY}
    return {"text": loop(url, model, [tool], answer).output_text, **result}


def schema(url: str, model: str) -> Outcome:
    with client(url).responses.stream(model=model, input=lines.PROMPT, text_format=Weather) as events:
        parsed = events.get_final_response().output_parsed
    return {"parsed": parsed and parsed.model_dump()}


def picture(url: str, model: str) -> Outcome:
    parts = [
        {"type": "input_text", "text": lines.PROMPT},
        {"type": "input_image", "image_url": lines.PICTURE, "detail": "high"},
    ]
    return {"text": ask(url, model, input=[{"role": "user", "content": parts}]).output_text}


def picture_back(url: str, model: str) -> Outcome:
    tool = {"type": "function", "name": "take_picture", "parameters": {"type": "object", "properties": {}}}

    def answer(item: Any) -> Any:
        if item.type != "function_call" or item.name != "take_picture":
            return None
        return output(item, [{"type": "input_image", "image_url": lines.PICTURE}])

    return {"text": loop(url, model, [tool], answer).output_text}


def last(url: str, model: str) -> Any:
    """The response of the last event: `get_final_response` gives out nothing but what is completed."""
    with client(url).responses.stream(model=model, input=lines.PROMPT) as events:
        return [event.response for event in events if hasattr(event, "response")][-1]


def refusal(url: str, model: str) -> Outcome:
    [message] = last(url, model).output
    return {"refusal": "".join(part.refusal for part in message.content)}


def incomplete(url: str, model: str) -> Outcome:
    response = last(url, model)
    return {"text": response.output_text, "ended": response.incomplete_details.reason}


def failed_before(url: str, model: str) -> Outcome:
    try:
        ask(url, model)
    except APIStatusError as error:
        return {"error": error.message, "code": error.code}
    return {}


def failed_in(url: str, model: str) -> Outcome:
    response = last(url, model)
    return {"text": response.output_text, "error": response.error.message, "code": response.error.code}


def wait(url: str, model: str) -> Outcome:
    return {"text": ask(url, model, retries=2).output_text}


if __name__ == "__main__":
    run_cells(
        {
            "text": text,
            "reasoning": reasoning,
            "parallel": parallel,
            "thoughts": thoughts,
            "custom": custom,
            "namespace": namespace,
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
