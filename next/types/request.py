"""The body of `POST /v1/responses`: what a client may post, as immutable structs."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from .json import Json

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Name = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}\Z")]
Key = Annotated[str, Meta(max_length=64)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Summary = Literal["auto", "concise", "detailed"]


class Shape(msgspec.Struct, kw_only=True):
    """An object that a client posts. Values are not converted; unknown members are ignored."""


class TextPart(Shape):
    """Text of any author."""

    text: str


class RefusalPart(Shape):
    """A model's refusal to answer."""

    refusal: str


Part = TextPart | RefusalPart
PARTS: dict[str, type[Part]] = {
    "input_text": TextPart,
    "output_text": TextPart,
    "text": TextPart,
    "refusal": RefusalPart,
}
"""Content parts by their `type`."""
Content = str | tuple[Part, ...]


class Message(Shape):
    """A message of the user, the assistant, the system or the developer."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Any
    """A `Content`."""


class Thought(Shape):
    """One piece of reasoning, or of its summary."""

    text: str


class Reasoning(Shape):
    """The reasoning of a model. `encrypted_content` is for the server that wrote it."""

    summary: list[Thought] | None = None
    content: list[Thought] | None = None
    encrypted_content: str | None = None


class FunctionCall(Shape):
    """A past call of a function, its arguments as the model wrote them."""

    call_id: str
    name: str
    arguments: str


class FunctionCallOutput(Shape):
    """The output of a past call."""

    call_id: str
    output: Any
    """A `Content`."""


Item = Message | Reasoning | FunctionCall | FunctionCallOutput
ITEMS: dict[str, type[Item]] = {
    "message": Message,
    "reasoning": Reasoning,
    "function_call": FunctionCall,
    "function_call_output": FunctionCallOutput,
}
"""Input items by their `type`."""


class FunctionTool(Shape):
    """A function that the client runs itself."""

    name: Name
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class OtherTool(Shape):
    """A tool of a type that no model behind this server has."""

    type: str


Tool = FunctionTool | OtherTool


class JsonObjectFormat(Shape):
    """Any JSON object."""

    def echo(self) -> Json:
        """As the response repeats it."""
        return {"type": "json_object"}


class JsonSchemaFormat(Shape, rename={"schema_": "schema"}):
    """JSON by a schema. `strict` asks the model's server to enforce it."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,64}\Z")]
    schema_: Json
    description: str | None = None
    strict: bool | None = None

    def echo(self) -> Json:
        """As the response repeats it."""
        return {
            "type": "json_schema",
            "name": self.name,
            "description": self.description,
            "schema": self.schema_,
            "strict": self.strict is True,
        }


class TextConfig(Shape):
    """Format and length of the answer's text. Without a format it is plain."""

    format: Any = None
    """A `JsonObjectFormat` or a `JsonSchemaFormat`."""
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(Shape):
    """How much the model should think."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    """The name that `summary` had before."""
    context: Key | None = None

    def echo(self) -> Json:
        """As the response repeats it."""
        told: Json = {"effort": self.effort, "summary": self.summary or self.generate_summary}
        if self.context is not None:  # without a word of the client, all turns are sent
            told["context"] = "current_turn" if self.context == "current_turn" else "all_turns"
        return told


class ChosenTool(Shape):
    """One tool, named by its type and, where that type has names, by its name."""

    type: Annotated[str, Meta(max_length=256)]
    name: Annotated[str, Meta(max_length=256)] | None = None


class AllowedTools(Shape):
    """The only tools that may be called."""

    tools: tuple[ChosenTool, ...]
    mode: Literal["auto", "required"] = "auto"


class Request(Shape):
    """A request, validated. Fields are named as on the wire; what was not given, or null, has its default."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    input: str | tuple[Any, ...]
    """A text, or items: each an `Item`."""
    instructions: str | None = None
    tools: list[Json] = []
    """As they were posted: the response repeats them."""
    offers: tuple[Any, ...] = ()
    """The same, parsed: each a `Tool`."""
    tool_choice: Any = "auto"
    """As it was posted, for the same reason."""
    choice: Any = "auto"
    """The same, parsed: a word, a `ChosenTool` or `AllowedTools`."""
    text: TextConfig = msgspec.field(default_factory=TextConfig)
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    reasoning: ReasoningConfig | None = None
    include: list[str] = []
    stream: bool = False
    store: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    metadata: dict[Key, Annotated[str, Meta(max_length=512)]] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    previous_response_id: str | None = None
    """The response that this one continues on its websocket, repeated here: its items are in `input` already."""
