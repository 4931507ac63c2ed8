"""LangChain: `ChatOpenAI(use_responses_api=True)`, streamed; tools run by hand, as its agents do."""

from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage  # type: ignore[import-not-found]  # it has an environment of its own
from langchain_openai import ChatOpenAI, custom_tool  # type: ignore[import-not-found]  # it has an environment of its own
from openai import APIStatusError
from pydantic import BaseModel

from tests.conformance import lines
from tests.conformance.drivers.run_cells import Outcome, run_cells

WEATHER: dict[str, Any] = {"type": "function", "name": lines.WEATHER, "description": "…", "parameters": lines.CITY}
THINKING: dict[str, Any] = {
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}
LOOK_UP: dict[str, Any] = {**WEATHER, "name": lines.LOOK_UP}


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


def chat(url: str, model: str, retries: int = 0, **fields: Any) -> Any:
    return ChatOpenAI(
        base_url=url, api_key="any", model=model, use_responses_api=True, max_retries=retries, store=False, **fields
    )


def ask(chat: Any, history: Any = lines.PROMPT, **fields: Any) -> Any:
    """The message that a stream's pieces add up to."""
    whole = None
    for piece in chat.stream(history, **fields):
        whole = piece if whole is None else whole + piece
    return whole


def loop(chat: Any, answer: Any) -> Any:
    """Ask again with what the tools gave until there are no calls."""
    history: list[Any] = [HumanMessage(lines.PROMPT)]
    while True:
        message = ask(chat, history)
        given = answer(message)
        if not given:
            return message
        history += [message, *given]


def text(url: str, model: str) -> Outcome:
    return {"text": ask(chat(url, model)).text}


def reasoning(url: str, model: str) -> Outcome:
    message = ask(chat(url, model, **THINKING))
    items = [block["reasoning"] for block in message.content_blocks if block["type"] == "reasoning"]
    return {"reasoning": "".join(items), "text": message.text}


def _answering(made: list[str], name: str) -> Any:
    def answer(message: Any) -> list[Any]:
        calls = [call for call in message.tool_calls if call["name"] == name]
        made.extend(call["args"]["city"] for call in calls)
        return [ToolMessage(lines.degrees(call["args"]["city"]), tool_call_id=call["id"]) for call in calls]

    return answer


def parallel(url: str, model: str, **fields: Any) -> Outcome:
    made: list[str] = []
    message = loop(chat(url, model, **fields).bind_tools([WEATHER]), _answering(made, lines.WEATHER))
    return {"calls": made, "text": message.text}


def thoughts(url: str, model: str) -> Outcome:
    return parallel(url, model, **THINKING)


def custom(url: str, model: str) -> Outcome:
    made: list[str] = []

    @custom_tool  # type: ignore[untyped-decorator]  # as above
    def run_code(content: str) -> str:
        """Runs a program."""
        made.append(content)
        return lines.RAN

    def answer(message: Any) -> list[Any]:
        return [run_code.invoke(call) for call in message.tool_calls]

    message = loop(chat(url, model, output_version="responses/v1").bind_tools([run_code]), answer)
    return {"input": "".join(made), "text": message.text}


def namespace(url: str, model: str) -> Outcome:
    """`bind_tools` knows no namespaces, so it is bound as it is."""
    made: list[str] = []
    tool = {"type": "namespace", "name": lines.NAMESPACE, "description": "Of the sky.", "tools": [LOOK_UP]}
    message = loop(chat(url, model).bind(tools=[tool]), _answering(made, lines.LOOK_UP))
    return {"calls": made, "text": message.text}


def schema(url: str, model: str) -> Outcome:
    shaped = chat(url, model).with_structured_output(Weather, method="json_schema")
    return {"parsed": list(shaped.stream(lines.PROMPT))[-1].model_dump()}


def picture(url: str, model: str) -> Outcome:
    image = {"type": "image", "base64": lines.PIXEL, "mime_type": "image/png"}
    message = HumanMessage([{"type": "text", "text": lines.PROMPT}, image])
    return {"text": ask(chat(url, model), [message]).text}


def picture_back(url: str, model: str) -> Outcome:
    tool = {"type": "function", "name": "take_picture", "parameters": {"type": "object", "properties": {}}}
    image = [{"type": "input_image", "image_url": lines.PICTURE}]

    def answer(message: Any) -> list[Any]:
        return [ToolMessage(image, tool_call_id=call["id"]) for call in message.tool_calls]

    return {"text": loop(chat(url, model).bind_tools([tool]), answer).text}


def refusal(url: str, model: str) -> Outcome:
    message = ask(chat(url, model))
    items = [block.get("refusal", "") for block in message.content if isinstance(block, dict)]
    return {"refusal": "".join(items) or message.additional_kwargs.get("refusal")}


def incomplete(url: str, model: str) -> Outcome:
    message = ask(chat(url, model))
    return {"text": message.text, "ended": message.response_metadata["incomplete_details"]["reason"]}


def failed_before(url: str, model: str) -> Outcome:
    try:
        ask(chat(url, model))
    except APIStatusError as error:
        return {"error": error.message, "code": error.code}
    return {}


def failed_in(url: str, model: str) -> Outcome:
    received_text = ""
    try:
        for piece in chat(url, model).stream(lines.PROMPT):
            received_text += piece.text
    except Exception as error:  # noqa: BLE001 — whatever it raises is what a program catches
        result = f"{error} {vars(error)}"
        return {"text": received_text, "error": result, "code": "server_error" if "server_error" in result else None}
    return {"text": received_text}


def wait(url: str, model: str) -> Outcome:
    return {"text": ask(chat(url, model, retries=2)).text}


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
