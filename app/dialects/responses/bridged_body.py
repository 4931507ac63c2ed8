"""Converts a body for a server that knows function tools only: tools, calls and outputs of other types are bridged.

    in the client's body                             in the body for the server
    custom tools, namespaces, `tool_search`,         functions, as the bridges make them (`app/bridges`)
    shells, `apply_patch`; `additional_tools` items
    calls of such tools, and their outputs           `function_call`, `function_call_output`
    `agent_message`                                  a message of the user
    `configuration_update`                           its reasoning effort, in `reasoning`
    calls of hosted tools that it does not run,      messages, or nothing
    and their outputs; the client's own notes
    summaries that another server encrypted          nothing
    a choice of certain tools, where the server      the word `required`, and only these tools
    takes only a word
    tools that the server runs itself                unchanged; a type that it is known not to run is left out
    arguments that are no JSON object                wrapped in one
    any other item, and calls of plain functions     unchanged

A body that has nothing of the rows before the last two, nor tools that are left out, is sent as it is.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...bridges.base import FunctionSpec
from ...bridges.choice import Choice
from ...bridges.ciphertext import holds_ciphertext
from ...bridges.program_calls import OF_PROGRAMS
from ...bridges.registry import BRIDGES
from ...bridges.schema import encrypts
from ...bridges.table import BridgeTable
from ...json_text import is_json_object
from ...parsing.items import parse_item
from ...prompt.effort import last_effort
from ...prompt.history import EMPTY_OUTPUT, arguments_as_object
from ...prompt.item_reader import empty, encrypted_arguments, title_of
from ...prompt.other_items import OTHER_ITEMS, ToldItem, as_text_warning, fixed_settings, late_output, told_item
from ...prompt.output_format import last_format
from ...protocol.request.create_response import CreateResponse
from ...protocol.request.input_items import (
    AgentMessageItem,
    ComputerOutputItem,
    ConfigurationUpdateItem,
    InputItem,
    UnknownItem,
)
from ...protocol.request.input_parts import Content
from ...protocol.request.plain_messages import assistant_message, user_message
from ...protocol.request.summaries import SERVER_ITEMS, ServerItem
from ...protocol.request.tool_choice import AllowedTools, ChosenTool, ToolChoice
from ...protocol.request.tool_items import AdditionalToolsItem, ToolItem
from ...protocol.warnings import ClientWarning
from .relay_options import RelayOptions

Json = dict[str, Any]

FUNCTION: Final = "function"
CALL: Final = "function_call"
OUTPUT: Final = "function_call_output"
NAMESPACE: Final = "namespace"
SCREENSHOT: Final = "computer_call_output"
ONLY_OPENAI: Final = frozenset({"additional_tools", "agent_message", "configuration_update"})
"""Items about no tool that a server of functions does not know."""
OF_NO_TOOL: Final = frozenset({"ghost_snapshot", "multi_agent_call", "multi_agent_call_output"})
"""Items of Codex and OpenAI's server that are told as text or left out, whatever tools the server runs."""


Sent = tuple[Json | None, ClientWarning | None]
"""An item for the server, if any, and a warning."""


class BridgedBody(NamedTuple):
    """A body for a server of functions, the tools behind the functions, and warnings about what was left out."""

    body: Json
    table: BridgeTable
    warnings: list[ClientWarning]


def bridged(body: Json, request: CreateResponse, positions: Sequence[int], options: RelayOptions) -> BridgedBody | None:
    """The body as such a server takes it; None if it is no different.

    `body` has the fields of `request`, perhaps with other items. `positions` are those of its items in the posted
    `input`. Raises `ProblemError` if the tools or `tool_choice` cannot be sent.
    """
    raw_items = _items_of(body)
    chooses_nothing = not request.raw_tools and body.get("tool_choice") is not None
    chooses_by_name = options.named_tool_choice == "required" and not isinstance(request.tool_choice, str)
    if (
        not chooses_nothing
        and not chooses_by_name
        and not any(_is_bridged_tool(tool, options) for tool in request.raw_tools)
        and not any(_is_bridged_item(item, options) for item in raw_items)
    ):
        return None
    paths = [f"input[{position}]" for position in positions]
    items = [parse_item(item, path) for item, path in zip(raw_items, paths, strict=True)]
    wanted: ToolChoice = "none" if body.get("tool_choice") == "none" else request.tool_choice
    of_functions = _choice_of_functions(wanted, options)
    table = BridgeTable(
        request.tools,
        of_functions,
        items=items,
        positions=positions,
        hosted=lambda kind: _is_hosted(kind, options),
    )
    changed = {name: value for name, value in body.items() if name not in {"tools", "tool_choice"}}
    changed |= _tool_fields(table, options, body.get("tool_choice"), as_posted=of_functions is not wanted)
    warnings = [*table.warnings, *table.lost]
    if raw_items:
        sent = [_sent(raw, item, path, table, options) for raw, item, path in zip(raw_items, items, paths, strict=True)]
        changed["input"] = [item for item, _ in sent if item is not None]
        warnings += [warning for _, warning in sent if warning is not None]
        if (effort := last_effort(items)) is not None:
            changed["reasoning"] = {**(body.get("reasoning") or {}), "effort": effort}
        if (form := last_format(items)) is not None:
            plain = form.model_dump(by_alias=True, exclude_unset=True)
            changed["text"] = {**(body.get("text") or {}), "format": {**plain, "type": form.type}}
    return BridgedBody(changed, table, warnings)


def may_have_functions_only(body: Json, options: RelayOptions) -> bool:
    """Whether a server that refused a body may be sent its tools as functions, and loses no summary by that."""
    kinds = {item.get("type") for item in _items_of(body)}
    return kinds.isdisjoint(SERVER_ITEMS) and any(_is_bridged_tool(tool, options) for tool in body.get("tools") or ())


def _items_of(body: Json) -> list[Json]:
    return body["input"] if isinstance(body["input"], list) else []


def _is_bridged_tool(tool: Json, options: RelayOptions) -> bool:
    """Whether this tool is sent as another function than it is, or is not sent."""
    if tool["type"] == FUNCTION:
        return encrypts(tool.get("parameters")) or any(tool.get(name) for name in OF_PROGRAMS)
    return not _is_hosted(tool["type"], options)


def _is_hosted(kind: str, options: RelayOptions) -> bool:
    """Whether the server may run this type of tool itself."""
    if kind in BRIDGES.by_tool or kind == NAMESPACE:
        return False
    return options.hosted_tools is None or kind.startswith(options.hosted_tools)


def _is_bridged_item(item: Json, options: RelayOptions) -> bool:
    kind = item.get("type")
    if kind == CALL:
        arguments = item["arguments"]
        return item.get("namespace") is not None or holds_ciphertext(arguments) or not is_json_object(arguments)
    if kind == OUTPUT:
        return item.get("call_id") is None
    return kind in BRIDGES.item_shapes or kind in ONLY_OPENAI or _is_foreign(kind, options)


def _is_foreign(kind: Any, options: RelayOptions) -> bool:
    """Whether this is the type of an item about a tool, or a summary, of another server."""
    if kind in OF_NO_TOOL:
        return True
    return (kind in OTHER_ITEMS or kind in SERVER_ITEMS or kind == SCREENSHOT) and not _is_hosted(kind, options)


def _choice_of_functions(choice: ToolChoice, options: RelayOptions) -> ToolChoice:
    """The choice as it concerns functions: the same unless it names only tools that the server runs itself."""
    match choice:
        case ChosenTool() if _is_hosted(choice.type, options):
            return "auto"
        case AllowedTools() if choice.tools and all(_is_hosted(tool.type, options) for tool in choice.tools):
            return choice.model_copy(update={"mode": "auto"})
        case _:
            return choice


def _tool_fields(table: BridgeTable, options: RelayOptions, posted: Any, *, as_posted: bool) -> Json:
    """`tools` and `tool_choice`; none of them without tools."""
    specs, choice = table.offer(options.named_tool_choice)
    tools = [_function(spec) for spec in specs] + [tool.model_dump(exclude_unset=True) for tool in table.hosted]
    if not tools:
        return {}
    if posted is None:
        return {"tools": tools}
    return {"tools": tools, "tool_choice": posted if as_posted else _choice(choice)}


def _function(spec: FunctionSpec) -> Json:
    """The tool. llama.cpp holds a function to its schema unless `strict` says otherwise, and others want every key."""
    return {
        "type": FUNCTION,
        "name": spec.name,
        "description": spec.description or "",
        "parameters": spec.parameters or {"type": "object", "properties": {}},
        "strict": spec.strict is True,
    }


def _choice(choice: Choice) -> Any:
    return choice.mode if choice.name is None else {"type": FUNCTION, "name": choice.name}


def _sent(  # noqa: PLR0911 — one for each kind of item
    raw: Json, item: InputItem, path: str, table: BridgeTable, options: RelayOptions
) -> Sent:
    """The item that is sent for this one, if any, and a warning."""
    match item:
        case ToolItem():
            return _call_or_output(raw, item, path, table)
        case AgentMessageItem():
            parts = [part for part in _as_posted(item.content) if str(part.get("text", "-")).strip()]
            return (user_message([_text(title_of(item)), *parts]), None) if parts else (None, empty(path))
        case AdditionalToolsItem():
            return None, None  # its tools are among the functions
        case ConfigurationUpdateItem():
            return None, fixed_settings(item, path)  # the last effort is in `reasoning`
        case ComputerOutputItem() if _is_foreign(item.type, options):
            parts = [_text(f"[{item.type}]"), *_as_posted(item.output)]
            return user_message(parts), as_text_warning(path, item.type)
        case ServerItem() if _is_foreign(item.type, options):
            return None, ClientWarning(path, item.type, f"{path} was left out: {item.left_out}")
        case UnknownItem() if _is_foreign(item.type, options):
            return _as_message(told_item(item, path))
        case _:
            return raw, None


def _as_message(told: ToldItem) -> Sent:
    if not told.text:
        return None, told.warning
    if told.by_assistant:
        return assistant_message([{"type": "output_text", "text": told.text, "annotations": []}]), told.warning
    image = [{"type": "input_image", "image_url": told.image.url, "detail": "auto"}] if told.image else []
    return user_message([_text(told.text), *image]), told.warning


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _as_posted(content: Content) -> list[Json]:
    """The parts of this content."""
    return (
        [_text(content)]
        if isinstance(content, str)
        else [part.model_dump(exclude_unset=True, exclude_none=True) for part in content]
    )


def _call_or_output(raw: Json, item: ToolItem, path: str, table: BridgeTable) -> Sent:
    if (call := table.read_call(item)) is not None:
        arguments, warning = arguments_as_object(call.arguments, path)
        as_posted = raw.get("type") == CALL and (raw["name"], raw["arguments"]) == (call.name, arguments)
        if as_posted and "namespace" not in raw:
            return raw, None
        made = {"type": CALL, "call_id": call.call_id, "name": call.name, "arguments": arguments}
        return made, encrypted_arguments(path) if call.encrypted else warning
    output = table.read_output(item)
    if output is None:
        return raw, None
    if output.call_id is None:
        title, warning = late_output(output.tool, path)
        return user_message([_text(title), *_as_posted(output.content or EMPTY_OUTPUT)]), warning
    if raw.get("type") == OUTPUT:
        return raw, None
    content = output.content if isinstance(output.content, str) else raw["output"]
    return {"type": OUTPUT, "call_id": output.call_id, "output": content}, None
