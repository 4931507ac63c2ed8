"""What a client may post, validated once, with the exact path of the first fault."""

from app.protocol.request.body import MAX_ITEMS, MAX_TOOLS, CreateResponse, ReasoningConfig, parse_request
from app.protocol.request.formats import JsonObjectFormat, JsonSchemaFormat, PlainFormat, TextConfig, TextFormat
from app.protocol.request.items import (
    FunctionCallItem,
    FunctionCallOutputItem,
    InputItem,
    MessageItem,
    ReasoningItem,
    UnknownItem,
)
from app.protocol.request.parts import (
    Content,
    InputAudioPart,
    InputFilePart,
    InputImagePart,
    InputPart,
    RefusalPart,
    TextPart,
    UnknownPart,
)
from app.protocol.request.tools import AllowedTools, ChosenTool, FunctionTool, OtherTool, Tool, ToolChoice

__all__ = [
    "MAX_ITEMS",
    "MAX_TOOLS",
    "AllowedTools",
    "ChosenTool",
    "Content",
    "CreateResponse",
    "FunctionCallItem",
    "FunctionCallOutputItem",
    "FunctionTool",
    "InputAudioPart",
    "InputFilePart",
    "InputImagePart",
    "InputItem",
    "InputPart",
    "JsonObjectFormat",
    "JsonSchemaFormat",
    "MessageItem",
    "OtherTool",
    "PlainFormat",
    "ReasoningConfig",
    "ReasoningItem",
    "RefusalPart",
    "TextConfig",
    "TextFormat",
    "TextPart",
    "Tool",
    "ToolChoice",
    "UnknownItem",
    "UnknownPart",
    "parse_request",
]
