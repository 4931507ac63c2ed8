"""LangChain: `ChatOpenAI(use_responses_api=True)`, streamed; tools run by hand, as its agents do."""

from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI, custom_tool

from tests.matrix import words
from tests.matrix.drivers.driving import Task, Told, Weather, serve


def drive(task: Task, told: Told) -> None:
    run_code = custom_tool(told.run_code)
    chat = ChatOpenAI(
        base_url=task.url,
        api_key="any",
        model=task.model,
        use_responses_api=True,
        output_version="responses/v1",
        max_retries=task.retries,
        store=False,
        **(words.THINKING if task.thinks else {}),
    )
    if task.schema:
        *_, weather = chat.with_structured_output(Weather, method="json_schema").stream(words.PROMPT)
        told.read(weather)
        return
    image = [{"type": "image", "base64": words.PIXEL, "mime_type": "image/png"}] if task.picture else []
    history: list[Any] = [HumanMessage([{"type": "text", "text": words.PROMPT}, *image])]
    # `bind_tools` knows no namespaces, so they are bound as they are
    tools = [run_code if name == "custom" else words.TOOLS[name] for name in task.tools]
    bound = chat.bind(tools=tools) if "namespace" in task.tools else chat.bind_tools(tools)

    def answer(call: Any) -> Any:
        if call["name"] == "run_code":
            return run_code.invoke(call)
        return ToolMessage(told.run(call["name"], call["args"]), tool_call_id=call["id"])

    given: list[Any] = [True]
    while given:
        whole: Any = None
        for piece in bound.stream(history):
            whole = piece if whole is None else whole + piece
            told["text"] = whole.text
        given = [answer(call) for call in whole.tool_calls]
        history += [whole, *given]
        read(whole, told)


def read(message: Any, told: Told) -> None:
    """The message that the pieces of a stream add up to."""
    thoughts = [block["reasoning"] for block in message.content_blocks if block["type"] == "reasoning"]
    told["reasoning"] = told.get("reasoning", "") + "".join(thoughts)
    told["refusal"] = "".join(block.get("refusal", "") for block in message.content)
    told["ended"] = (message.response_metadata.get("incomplete_details") or {}).get("reason")


if __name__ == "__main__":
    serve(drive)
