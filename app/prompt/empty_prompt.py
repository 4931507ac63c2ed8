"""Requests that say nothing."""

from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import InputItem, MessageItem


def empty_prompt(request: CreateResponse) -> str | None:
    """The user's empty text, if there is nothing else: some servers answer it, and others refuse it with a reason."""
    if (request.instructions or "").strip():
        return None
    if isinstance(request.input, str):
        return None if request.input.strip() else request.input
    text = None
    for item in request.items:
        text = _text_alone(item)
        if text is None or text.strip():
            return None
    return text


def _text_alone(item: InputItem) -> str | None:
    """The text of this item, if it is a message of the user that holds text alone."""
    if not isinstance(item, MessageItem) or item.role != "user":
        return None
    if isinstance(item.content, str):
        return item.content
    texts = [getattr(part, "text", None) for part in item.content]
    return "".join([text for text in texts if isinstance(text, str)]) if None not in texts else None
