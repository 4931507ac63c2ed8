"""The openai package for Python: every stream put together by its own `.stream()` helper, the tools run by hand."""

import json
from typing import Any

from openai import OpenAI

from tests.matrix import words
from tests.matrix.drivers.driving import Task, Told, Weather, serve


def drive(task: Task, told: Told) -> None:
    client = OpenAI(base_url=task.url, api_key="any", max_retries=task.retries, timeout=60)
    content = [words.SAID, *[words.IMAGE] * task.picture]
    fields: dict[str, Any] = {"model": task.model, "store": False, "input": [{"role": "user", "content": content}]}
    fields |= {"tools": [words.TOOLS[name] for name in task.tools], **(words.THINKING if task.thinks else {})}
    if task.schema:
        fields["text_format"] = Weather
    given = [True]
    while given:
        told["text"] = ""
        last: Any = None
        with client.responses.stream(**fields) as events:
            for event in events:
                told["text"] += event.delta if event.type == "response.output_text.delta" else ""
                last = getattr(event, "response", last)
        given = [output for item in last.output if (output := answer(item, told))]
        fields["input"] += [*last.output, *given]
        read(last, told)


def answer(item: Any, told: Told) -> Any:
    """What a tool gives, if the item is a call."""
    match item.type:
        case "function_call":
            given = told.run(item.name, json.loads(item.arguments))
        case "custom_tool_call":
            given = told.run(item.name, item.input)
        case "tool_search_call":
            told["query"] = item.arguments["query"]
            return {**words.FOUND_TOOLS, "call_id": item.call_id}
        case _:
            return None
    return {"type": f"{item.type}_output", "call_id": item.call_id, "output": given}


def read(response: Any, told: Told) -> None:
    """The response at its end."""
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
    told["reasoning"] = told.get("reasoning", "") + "".join(thoughts)
    told["refusal"] = "".join(part.refusal for part in parts if part.type == "refusal")
    told["ended"] = response.incomplete_details and response.incomplete_details.reason
    told.read(getattr(response, "output_parsed", None) or response.output_text)
    if response.error:
        told["error"] = repr(response.error)


if __name__ == "__main__":
    serve(drive)
