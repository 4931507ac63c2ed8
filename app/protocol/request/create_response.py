"""The body of `POST /v1/responses`."""

from collections.abc import Iterable, Sized
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from pydantic import Field, SkipValidation

from app.protocol.problems import ProblemError, refuse
from app.protocol.request.input_items import Effort, InputItem, entries_of, parse_item
from app.protocol.request.json_values import holds_more_values
from app.protocol.request.policy import refuse_stateful, refuse_steering, warnings_about
from app.protocol.request.posted import Shape, an_array, missing, validated, wrong_type
from app.protocol.request.text_format import TextConfig, parse_text
from app.protocol.request.tool_choice import ToolChoice, parse_tool_choice
from app.protocol.request.tool_items import AdditionalToolsItem, ToolSearchOutputItem
from app.protocol.request.tools import NamespaceTool, Tool, parse_tools

MAX_ITEMS: Final = 16_384
MAX_PARTS: Final = 32_768
"""Entries of all lists inside items: content parts, thoughts, commands, outputs, tools."""
MAX_TOOLS: Final = 1_024
MAX_JSON_VALUES: Final = 250_000
"""A value of two bytes becomes an object of a hundred. All items with all their parts and tools need fewer."""
MAX_ENTRIES: Final = 100
"""Of a list that only says what is wanted."""
MAX_PAIRS: Final = 16
"""Of `metadata`, as OpenAI has it."""
MAX_NAME: Final = 256
"""Characters of a model's name, as in the configuration."""
MAX_DEPTH: Final = 128
"""Levels of nesting. Deep enough for any schema; far below where encoders give up."""

AnyList = TypeVar("AnyList", bound=Sized)
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Key = Annotated[str, Field(max_length=64)]


class Bounds(NamedTuple):
    """How much a request may hold."""

    max_items: int = MAX_ITEMS
    max_parts: int = MAX_PARTS
    max_tools: int = MAX_TOOLS
    max_json_values: int = MAX_JSON_VALUES


BOUNDS: Final = Bounds()


class ReasoningConfig(Shape):
    """How much the model should think."""

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class ContextManagement(Shape):
    """What is to become of a conversation that grows too long."""

    type: str
    compact_threshold: Annotated[int, Field(ge=1)] | None = None


class CreateResponse(Shape, extra="ignore"):
    """A request, validated. Fields are named as on the wire; what was not given, or null, has its default."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    input: Annotated[str | list[InputItem], SkipValidation]
    instructions: str | None = None
    tools: Annotated[list[Tool], SkipValidation] = Field(default_factory=list)
    raw_tools: Annotated[list[dict[str, Any]], SkipValidation] = Field(default_factory=list)
    """The tools as they were posted: the response echoes them."""
    tool_choice: Annotated[ToolChoice, SkipValidation] = "auto"
    raw_tool_choice: Annotated[Any, SkipValidation] = "auto"
    """`tool_choice` as it was posted, for the same reason."""
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int, Field(ge=1)] | None = None
    text: Annotated[TextConfig, SkipValidation] = TextConfig()
    reasoning: ReasoningConfig | None = None
    include: list[str] = Field(default_factory=list)
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    store: bool | None = None
    background: bool = False
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    metadata: dict[Key, Annotated[str, Field(max_length=512)]] | None = None
    context_management: list[ContextManagement] = Field(default_factory=list)
    truncation: Literal["auto", "disabled"] = "disabled"
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    previous_response_id: str | None = None
    """The response that this one continues on its connection, for the echo: what was said is in `input` already."""
    compacts: bool = False
    """It was posted to be summed up, and for nothing else."""
    positions: Annotated[list[int] | None, SkipValidation] = None
    """The position that each item had in the `input` that was posted, where a compaction item was expanded."""
    raw: Annotated[dict[str, Any], SkipValidation] = Field(default_factory=dict)
    """The body as it was posted, for upstreams that speak Responses themselves."""
    size: int = 0
    """Bytes of the body, which say how long it takes to translate."""
    warnings: Annotated[list[str], SkipValidation] = Field(default_factory=list)
    """What was posted and has no effect here, in words for the caller."""

    @property
    def compact_threshold(self) -> int | None:
        """How many tokens the conversation may have before it is to be summed up."""
        wanted = [entry.compact_threshold for entry in self.context_management if entry.type == "compaction"]
        return next((threshold for threshold in wanted if threshold is not None), None)

    @property
    def items(self) -> list[InputItem]:
        """`input` as items; a plain string is none."""
        return [] if isinstance(self.input, str) else self.input


_OURS: Final = {
    "compacts", "positions", "previous_response_id", "raw", "raw_tool_choice", "raw_tools", "size", "warnings",
}  # fmt: skip
_LISTED: Final = {"include": MAX_ENTRIES, "context_management": MAX_ENTRIES, "metadata": MAX_PAIRS}
KNOWN: Final = frozenset(CreateResponse.model_fields) - _OURS


def parse_request(body: bytes, **bounds: int) -> CreateResponse:
    """The request in this body. Refuses whatever this server could not serve honestly, by the path of the fault."""
    within = Bounds(**bounds)
    return parse_object(decode_object(body, within.max_json_values), within)


def parse_object(raw: dict[str, Any], bounds: Bounds = BOUNDS, size: int = 0) -> CreateResponse:
    """The same, of a body of `size` bytes that `decode_object` has read."""
    refuse_steering(raw)
    given = {key: value for key, value in raw.items() if value is not None}
    refuse_stateful(given)
    if given.get("model", "") == "":
        raise missing("model")
    if "input" not in given:
        raise missing("input")
    known = {key: value for key, value in given.items() if key in KNOWN}
    known["input"] = _parse_input(known["input"], bounds)
    if "tools" in known:
        known["raw_tools"] = _within(an_array(known["tools"], "tools"), bounds.max_tools, "tools", "max_tools")
        _refuse_full_namespaces(known["raw_tools"], bounds.max_tools)
        known["tools"] = parse_tools(known["raw_tools"], "tools")
    _count_tools(known.get("tools", []), known["input"], bounds.max_tools)
    if "tool_choice" in known:
        known["raw_tool_choice"] = known["tool_choice"]
        known["tool_choice"] = _parse_choice(known["tool_choice"], bounds.max_tools)
    for name, most in _LISTED.items():
        if isinstance(known.get(name), list | dict):
            _within(known[name], most, name)
    if "text" in known:
        known["text"] = parse_text(known["text"])
    known["raw"] = raw
    known["size"] = size
    known["warnings"] = []
    request = validated(CreateResponse, known)
    request.warnings.extend(warnings_about(given, KNOWN, request.include))
    return request


def parse_compaction(raw: dict[str, Any], bounds: Bounds = BOUNDS, size: int = 0) -> CreateResponse:
    """A body of `POST /v1/responses/compact`: the request for a turn that sums it up and does nothing else."""
    given = raw.get("input")
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    if isinstance(items, list):
        raw = {**raw, "input": [*items, {"type": "compaction_trigger"}]}
    request = parse_object({**raw, "stream": False}, bounds._replace(max_items=bounds.max_items + 1), size)
    return request.model_copy(update={"compacts": True})


def by(setting: str) -> str:
    """Names the setting of this server that bounds something."""
    return f" (the server's setting '{setting}')"


def too_many_values(where: str, most: int) -> str:
    """What is said of JSON that holds more values than are allowed."""
    limit = f"{most} JSON values that are allowed{by('max_json_values')}"
    return f"Invalid value for '{where}': it holds more than the {limit}."


def decode_object(body: bytes, max_json_values: int = MAX_JSON_VALUES) -> dict[str, Any]:
    """The JSON object in these bytes. Refuses anything else, and what is nested too deeply to be written again."""
    if holds_more_values(body, max_json_values):
        message = too_many_values("body", max_json_values)
        raise refuse("invalid_value", message, "body")
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise refuse("invalid_json", f"The body is not valid JSON: {_reason(error)}.") from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(raw, dict):
        raise wrong_type("body", "an object", raw)
    _refuse_depth(raw)
    return raw


def _reason(error: Exception) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _too_deep() -> ProblemError:
    return refuse("invalid_json", f"The body is nested too deeply: more than {MAX_DEPTH} levels.")


def _refuse_depth(raw: dict[str, Any]) -> None:
    """What is nested deeper could be read, but not written again: the response echoes tools and formats."""
    level: list[Any] = [raw]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise _too_deep()


def _parse_input(raw: object, bounds: Bounds) -> str | list[InputItem]:
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        raise wrong_type("input", "a string or an array of items", raw)
    items = _within(raw, bounds.max_items, "input", "max_items")
    entries = 0
    for index, item in enumerate(items):
        entries += entries_of(item)
        if entries > bounds.max_parts:
            path = f"input[{index}]"
            message = (
                f"Invalid value for '{path}': up to here the input holds {entries} content parts and other list "
                f"entries, and at most {bounds.max_parts} are allowed{by('max_parts')}."
            )
            raise refuse("invalid_value", message, path)
    return [parse_item(item, f"input[{index}]") for index, item in enumerate(items)]


def _parse_choice(raw: object, limit: int) -> ToolChoice:
    if isinstance(raw, dict) and isinstance(raw.get("tools"), list):
        _within(raw["tools"], limit, "tool_choice.tools", "max_tools")
    return parse_tool_choice(raw)


def _refuse_full_namespaces(tools: list[Any], limit: int) -> None:
    """Refuses more tools in namespaces than there may be, before any of them is read."""
    held = sum(map(entries_of, tools))
    if held > limit:
        raise _too_many_tools(held, limit)


def _count_tools(tools: list[Tool], given: str | list[InputItem], limit: int) -> None:
    """All tools of a turn together, wherever they stand and however they are nested."""
    told = _names(tools)
    for index, item in enumerate(given if isinstance(given, list) else ()):
        if isinstance(item, AdditionalToolsItem | ToolSearchOutputItem):
            told |= _names(_within(item.tools, limit, f"input[{index}].tools", "max_tools"))
    if len(told) > limit:
        raise _too_many_tools(len(told), limit)


def _too_many_tools(count: int, limit: int) -> ProblemError:
    message = f"Invalid value for 'tools': there are {count} in all, and at most {limit} are allowed{by('max_tools')}."
    return refuse("invalid_value", message, "tools")


def _names(tools: Iterable[Tool]) -> set[tuple[str, str, str]]:
    """What a model would be told of: a namespace is as many as it holds, a tool that is found twice is one."""
    return {
        (space, tool.type, str(getattr(tool, "name", "")))  # a tool without names may bring anything under that key
        for outer in tools
        for space, tool in (
            [(outer.name, inner) for inner in outer.tools] if isinstance(outer, NamespaceTool) else [("", outer)]
        )
    }


def _within(raw: AnyList, limit: int, path: str, setting: str = "") -> AnyList:
    if len(raw) <= limit:
        return raw
    message = f"Invalid value for '{path}': it holds {len(raw)} entries, and at most {limit} are allowed"
    message += f"{by(setting)}." if setting else "."
    raise refuse("invalid_value", message, path)
