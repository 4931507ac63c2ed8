"""The body of `POST /v1/responses`: what a client may post. The shapes of tools, calls and outputs are in `tools/`."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from .json import Json
from .problems import ProblemError

SERVICE_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"})
ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""In `include`: the client wants reasoning with its sealed state."""
LOGPROBS = "message.output_text.logprobs"
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
Name = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}\Z")]
Named = Annotated[str, Meta(max_length=256)]
"""Longer than the name of any tool: a longer one is refused before it is looked up."""
Key = Annotated[str, Meta(max_length=64)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Summary = Literal["auto", "concise", "detailed"]


class Shape(msgspec.Struct, kw_only=True):
    """An object that a client posts. Values are not converted; unknown members are ignored."""


class TypedShape(Shape, tag_field="type"):
    """One of several that differ by their `type`."""


class Part(TypedShape):
    """A content part of a message or of a tool's output."""

    prompt_cache_breakpoint: Any = None
    """Marks the part as the end of what is to be cached."""


class TextPart(Part, tag="input_text", kw_only=True):
    """Text of any author."""

    text: str


class OutputTextPart(TextPart, tag="output_text", kw_only=True):
    """Text of the assistant."""


class PlainTextPart(TextPart, tag="text", kw_only=True):
    """Text as chat completions name it."""


class RefusalPart(Part, tag="refusal", kw_only=True):
    """A model's refusal to answer."""

    refusal: str


class ImagePart(Part, tag="input_image"):
    """An image: a data URI or a URL. `file_id` is read only to be refused."""

    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class FilePart(Part, tag="input_file"):
    """A file: its data, or a URL. `file_id` is read only to be refused."""

    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None
    detail: str | None = None


class AudioData(Shape):
    """Sound, base64."""

    data: str
    format: str


class AudioPart(Part, tag="input_audio", kw_only=True):
    """A recording."""

    input_audio: AudioData


class VideoPart(Part, tag="input_video"):
    """A video, which no model gets."""


class EncryptedPart(Part, tag="encrypted_content", kw_only=True):
    """What one agent tells another, encrypted by OpenAI's servers; from other servers it is plain text."""

    encrypted_content: str


AnyPart = (
    TextPart
    | OutputTextPart
    | PlainTextPart
    | RefusalPart
    | ImagePart
    | FilePart
    | AudioPart
    | VideoPart
    | EncryptedPart
)
Content = str | tuple[AnyPart, ...]


class Item(Shape):
    """An input item."""


class Message(Item):
    """A message of the user, the assistant, the system or the developer."""

    content: Content
    role: Literal["user", "assistant", "system", "developer"]


class Thought(Shape):
    """One piece of reasoning, or of its summary."""

    text: str


class Reasoning(Item):
    """The reasoning of a model. `encrypted_content` is for the server that wrote it."""

    summary: list[Thought] | None = None
    content: list[Thought] | None = None
    encrypted_content: str | None = None


class AgentMessage(Item):
    """A message from one agent to another. Only OpenAI's servers encrypt it."""

    content: Content
    author: str | None = None


class ComputerOutput(Item):
    """What a computer showed: its picture, read as a content part."""

    output: Content


class NewEffort(Shape):
    """How much the model should think from here on."""

    effort: Effort | None = None


class SummaryItem(Item):
    """A summary of a conversation, sealed by the server that wrote it."""

    encrypted_content: str | None = None


class SummaryTrigger(Item):
    """At the end of the input: asks for a summary alone."""


class OtherItem(Item):
    """An item without a shape of its own, with all its members."""

    type: str
    members: Json


class UnknownPart(Item):
    """An item with a content part of a type that only servers with the same API may know."""

    fault: ProblemError
    """What is told where it must be read."""


class Tool(Shape):
    """A tool of any type."""

    type: str


class OtherTool(Tool, kw_only=True):
    """A tool without a shape of its own, with all its members."""

    name: str | None = None
    members: Json


class NamespaceTool(Tool, kw_only=True):
    """Several tools under one name; a call of one names both."""

    name: Name
    description: str | None = None
    tools: Any
    """Each a `Tool`."""


class AdditionalTools(Item):
    """Tools that are offered from this item on. With newer models, Codex sends all its tools this way."""

    tools: Any
    """Each a `Tool`."""


class ToolItem(Item):
    """A past call of a tool, or its output. The shapes of each type are in its file."""


class PlainFormat(TypedShape, tag="text"):
    """Any text."""


class JsonObjectFormat(TypedShape, tag="json_object"):
    """Any JSON object."""


class JsonSchemaFormat(TypedShape, tag="json_schema", rename={"schema_": "schema"}):
    """JSON by a schema. `strict` asks the model's server to enforce it."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,64}\Z")]
    schema_: Json
    description: str | None = None
    strict: bool | None = None


Format = PlainFormat | JsonObjectFormat | JsonSchemaFormat


class NewFormat(Shape):
    """The format of the answers from here on."""

    format: Format | None = None


class SettingsUpdate(Item):
    """A change of settings during a conversation. Of each setting the last one applies."""

    reasoning: NewEffort | None = None
    text: NewFormat | None = None
    members: Json = {}
    """The item as it was posted."""


ITEMS: dict[str, type[Item]] = {
    "message": Message,
    "reasoning": Reasoning,
    "additional_tools": AdditionalTools,
    "agent_message": AgentMessage,
    "computer_call_output": ComputerOutput,
    "configuration_update": SettingsUpdate,
    "compaction": SummaryItem,
    "compaction_summary": SummaryItem,  # as Codex named it before
    "context_compaction": SummaryItem,
    "compaction_trigger": SummaryTrigger,
}
"""Input items that are not about a tool, by their `type`."""


class TextConfig(Shape):
    """Format and length of the answer's text."""

    format: Format | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(Shape):
    """How much the model should think."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    """The name that `summary` had before."""
    context: Key | None = None
    """Of which turns reasoning is sent to the model: `auto`, `all_turns` or `current_turn`."""
    mode: Key | None = None

    @property
    def wanted_summary(self) -> Summary | None:
        """The summary that the client wants, under either name."""
        return self.summary or self.generate_summary


class CacheOptions(Shape):
    """How the prompt is to be cached."""

    mode: str | None = None
    ttl: str | None = None
    prewarm: bool | None = None
    """True: only prepare the cache, and write no answer."""


class StreamOptions(Shape):
    """How a streamed answer is sent."""

    include_obfuscation: bool | None = None
    reasoning_summary_delivery: str | None = None
    """Codex says it; here summaries are sent as they come."""


class ContextManagement(Shape):
    """What is done with a conversation that grows too long."""

    type: str
    compact_threshold: Annotated[int, Meta(ge=1)] | None = None


class ChosenTool(Shape):
    """One tool, named by its type and, where that type has names, by its name."""

    type: Named
    name: Named | None = None
    namespace: Named | None = None


class AllowedTools(Shape):
    """The only tools that may be called."""

    tools: tuple[ChosenTool, ...]
    mode: Literal["auto", "required"] = "auto"


class Request(Shape):
    """A request, validated. Fields are named as on the wire; what was not given, or null, has its default."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    input: Any
    """A text, or a tuple of items, each an `Item`."""
    instructions: str | None = None
    tools: list[Json] = []
    """As they were posted: the response repeats them."""
    offers: Any = ()
    """The same, parsed: each a `Tool`."""
    tool_choice: Any = "auto"
    """As it was posted, for the same reason."""
    choice: Any = "auto"
    """The same, parsed: a word, a `ChosenTool` or `AllowedTools`."""
    text: TextConfig = msgspec.field(default_factory=TextConfig)
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    reasoning: ReasoningConfig | None = None
    include: Annotated[list[str], Meta(max_length=100)] = []
    stream: bool = False
    stream_options: StreamOptions | None = None
    generate: bool = True
    """False: the request is checked and translated, and no model is asked."""
    store: bool | None = None
    background: bool = False
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    metadata: Annotated[dict[Key, Annotated[str, Meta(max_length=512)]], Meta(max_length=16)] | None = None
    context_management: Annotated[list[ContextManagement], Meta(max_length=100)] = []
    truncation: Literal["auto", "disabled"] | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    previous_response_id: str | None = None
    """The response that this one continues on its websocket, repeated here: its items are in `input` already."""
    posted: Json = {}
    """All of it as it was posted, for servers that have the same API."""
    positions: tuple[int, ...] = ()
    """The position that each item had in the `input` that was posted, where an item was expanded."""

    @property
    def prewarms(self) -> bool:
        """Whether only the cache of the model's server is to be filled."""
        return bool(self.prompt_cache_options and self.prompt_cache_options.prewarm)

    @property
    def items(self) -> tuple[Any, ...]:
        """`input` as items; a text is none."""
        return () if isinstance(self.input, str) else self.input

    def path_of(self, index: int) -> str:
        """The path of an item as it was posted."""
        return f"input[{self.positions[index] if index < len(self.positions) else index}]"
