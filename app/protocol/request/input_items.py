"""Input items: the conversation so far."""

from typing import Annotated, Final, Literal

from pydantic import Field, SkipValidation

from ...options import Effort
from .input_parts import ParsedContent
from .shape import Nested, OneOf, Shape
from .summaries import SERVER_ITEMS, ServerItem
from .text_format import FORMATS, TextFormat
from .tool_items import AdditionalToolsItem, ToolItem


class MessageItem(Shape):
    """A message of the user, the assistant, the system or the developer."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: ParsedContent
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class Thought(Shape):
    """One piece of reasoning, or of its summary."""

    type: str = "summary_text"
    text: str


class ReasoningItem(Shape):
    """The reasoning of a model. `encrypted_content` is for the server that wrote it."""

    type: Literal["reasoning"]
    summary: Annotated[list[Thought], Field(fail_fast=True)] | None = None
    content: Annotated[list[Thought], Field(fail_fast=True)] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: str | None = None


class AgentMessageItem(Shape):
    """A message from one agent to another. Only OpenAI's servers encrypt it."""

    type: Literal["agent_message"]
    content: ParsedContent
    author: str | None = None
    recipient: str | None = None


class Configuration(Shape):
    """How much the model should think from here on."""

    effort: Effort | None = None


class TextUpdate(Shape):
    """The format of the answers from here on."""

    format: Annotated[TextFormat | None, SkipValidation, OneOf(FORMATS)] = None


class ConfigurationUpdateItem(Shape):
    """A change of settings during a conversation. Of each setting the last one applies."""

    type: Literal["configuration_update"]
    reasoning: Configuration | None = None
    text: Annotated[TextUpdate | None, SkipValidation, Nested(TextUpdate)] = None


class ComputerOutputItem(Shape):
    """What a computer showed after a call: its picture, read as a content part."""

    type: Literal["computer_call_output"]
    output: ParsedContent
    status: str | None = None


class UnknownItem(Shape):
    """An item of a type without a shape of its own, with all its keys."""

    type: str


InputItem = (
    MessageItem
    | ToolItem
    | ReasoningItem
    | AdditionalToolsItem
    | AgentMessageItem
    | ConfigurationUpdateItem
    | ComputerOutputItem
    | ServerItem
    | UnknownItem
)

ITEMS: Final[dict[str, type[InputItem]]] = {
    "message": MessageItem,
    "additional_tools": AdditionalToolsItem,
    "agent_message": AgentMessageItem,
    "computer_call_output": ComputerOutputItem,
    "configuration_update": ConfigurationUpdateItem,
    "reasoning": ReasoningItem,
    **SERVER_ITEMS,
}
"""Every item that is not about a tool, by its `type`."""
