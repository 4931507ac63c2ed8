"""Input items: what was said and done so far."""

from typing import Annotated, Any, Final, Literal

from pydantic import SkipValidation

from app.protocol.problems import ProblemError, refuse
from app.protocol.request.parts import Content, parse_content
from app.protocol.request.shape import Shape, an_object, type_of, validated

ParsedContent = Annotated[Content, SkipValidation]
"""Content whose parts were validated one by one, each by its own type."""


class MessageItem(Shape):
    """Something said by somebody."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: ParsedContent
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class FunctionCallItem(Shape):
    """A past call of a function, its arguments as the model wrote them."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    namespace: str | None = None
    id: str | None = None
    status: str | None = None


class FunctionCallOutputItem(Shape):
    """What a past call gave."""

    type: Literal["function_call_output"]
    call_id: str
    output: ParsedContent
    id: str | None = None
    status: str | None = None


class Thought(Shape):
    """One piece of reasoning, in its own words or summed up."""

    type: str = "summary_text"
    text: str


class ReasoningItem(Shape):
    """What a model thought. `encrypted_content` is for the server that wrote it."""

    type: Literal["reasoning"]
    summary: list[Thought] | None = None
    content: list[Thought] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: str | None = None


class UnknownItem(Shape):
    """An item of a type without a shape of its own, all its keys kept; a dialect decides what becomes of it."""

    type: str


InputItem = MessageItem | FunctionCallItem | FunctionCallOutputItem | ReasoningItem | UnknownItem

ITEMS: Final[dict[str, type[InputItem]]] = {
    "message": MessageItem,
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
    "reasoning": ReasoningItem,
}
_CONTENT: Final[dict[str, str]] = {"message": "content", "function_call_output": "output"}
"""The key that holds content parts, by item type."""


def parse_item(raw: object, path: str) -> InputItem:
    """One item, by its `type`; without one it is a message."""
    item = an_object(raw, path)
    kind = _kind(item, path)
    if kind == "item_reference":
        raise _reference(path)
    if (key := _CONTENT.get(kind)) is not None:
        item = {**item, "type": kind, key: parse_content(item.get(key), f"{path}.{key}")}
    return validated(ITEMS.get(kind, UnknownItem), item, path)


def _kind(item: dict[str, Any], path: str) -> str:
    if item.get("type") is not None:
        return type_of(item, path)
    if "role" not in item and "content" not in item and item.get("id") is not None:
        return "item_reference"  # its type may be left out, by the API's own types
    return "message"


def _reference(path: str) -> ProblemError:
    return refuse(
        "unsupported_parameter",
        f"'{path}' refers to an item stored by an earlier response. This server is stateless and stores nothing: "
        "send the items themselves in 'input', and set `store: false` so that your client keeps them.",
        path,
    )
