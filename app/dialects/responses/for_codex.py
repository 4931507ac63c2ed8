"""Refusals as text: Codex shows nothing of a message that holds a `refusal` part."""

from typing import Any, Final

Json = dict[str, Any]

_REFUSAL: Final = "response.refusal."
_TEXT: Final = "response.output_text."


def refusals_as_text(name: str, event: Json) -> str:
    """Changes the event where it is about a refusal; its name."""
    if name.startswith(_REFUSAL):
        name = event["type"] = _TEXT + name.removeprefix(_REFUSAL)
        if "refusal" in event:
            event["text"] = event.pop("refusal")
        event["logprobs"] = []
    if "part" in event:
        event["part"] = _part(event["part"])
    if "item" in event:
        event["item"] = _item(event["item"])
    response = event.get("response")
    if isinstance(response, dict) and isinstance(response.get("output"), list):
        event["response"] = {**response, "output": [_item(item) for item in response["output"]]}
    return name


def _item(item: Any) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("content"), list):
        return item
    return {**item, "content": [_part(part) for part in item["content"]]}


def _part(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") != "refusal":
        return part
    return {"type": "output_text", "text": part.get("refusal"), "annotations": []}
