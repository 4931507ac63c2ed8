"""One turn with a server of the Messages API."""

from typing import Any

from ...prompt.nouns import Prompt
from ..body_length import tokens_in
from ..prompt_turn import PromptTurn
from ..wire import Wire
from .block_state import FORM
from .message_body import encode
from .message_reader import MessageReader
from .messages_options import MessagesOptions

Json = dict[str, Any]


def _reader(prompt: Prompt, options: MessagesOptions, keeps_state: bool) -> MessageReader:  # noqa: ARG001, FBT001 — as `Wire` demands
    return MessageReader(keeps_state=keeps_state)


def _tokens_of(body: Json) -> int:
    """Estimated tokens of what the model reads: system prompt, messages and tools."""
    read = [body[name] for name in ("system", "messages", "tools") if name in body]
    blocks = [block for message in body["messages"] for block in message["content"]]
    within = [each for block in blocks if block["type"] == "tool_result" for each in block["content"]]
    return tokens_in(read, [block.get("source") for block in (*blocks, *within)])


class MessagesTurn(PromptTurn[MessagesOptions]):
    """The request body for one turn, and the events for each of the server's."""

    wire = Wire(FORM, encode, _reader, _tokens_of)
