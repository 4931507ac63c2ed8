"""What a server of the Messages API is asked, block by block."""

from typing import Any, Final

from app.prompt.build import PAST_TOOL
from tests.support.messages_requests import MODEL, MOST_TOKENS

Json = dict[str, Any]

ANYTHING: Final[Json] = {"type": "object", "properties": {}}
CLOSED: Final[Json] = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
"""What the server can enforce."""
PIXEL: Final = "iVBORw0KGgo="


def body(*messages: Json, **more: Any) -> Json:
    """A body with these messages, and what stands in every body."""
    return {"model": MODEL, "max_tokens": MOST_TOKENS, "messages": list(messages), "stream": True, **more}


def by_user(*blocks: Json) -> Json:
    """A message in the user's role."""
    return {"role": "user", "content": list(blocks)}


def by_model(*blocks: Json) -> Json:
    """A message in the assistant's role."""
    return {"role": "assistant", "content": list(blocks)}


def words(text: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": text}


def picture(data: str = PIXEL) -> Json:
    """A picture."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def block(words: str) -> Json:
    """A block of reasoning with its signature, as this server gave it and takes it back."""
    return {"type": "thinking", "thinking": words, "signature": f"signed {words}"}


def used(call_id: str, name: str = "f", **arguments: Any) -> Json:
    """A past call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def gave(call_id: str, *blocks: Json) -> Json:
    """What it gave."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(blocks)}


def past(*names: str) -> Json:
    """Tools of earlier turns, which a history names and the request does not offer."""
    tools = [{"name": name, "input_schema": ANYTHING, "description": PAST_TOOL} for name in names]
    return {"tools": tools, "tool_choice": {"type": "none"}}
