"""Parses the body of `POST /v1/responses`."""

from collections.abc import Iterable
from typing import Any, Final

from ..protocol.problems import ProblemError, refuse
from ..protocol.request.create_response import KNOWN, CreateResponse
from ..protocol.request.input_items import InputItem
from ..protocol.request.text_format import TextConfig
from ..protocol.request.tool_items import ToolsItem
from ..protocol.request.tools import NamespaceTool, Tool
from .bounds import BOUNDS, MAX_ENTRIES, MAX_PAIRS, Bounds, by_setting, within
from .chosen_tools import parse_tool_choice
from .items import entries_of, parse_input
from .json_object import decode_object
from .shaped import parse_tools, shaped
from .unsupported import refuse_stateful, refuse_steering, warnings_about
from .validation import an_array, an_object, missing, validated

CHAT_COMPLETION: Final = (
    "This is the body of a chat completion: it has 'messages', and no 'input'. In the Responses API the conversation "
    "is 'input': a text, or a list of messages. docs/migrating.md shows what a client has to change."
)
_LISTED: Final = {"include": MAX_ENTRIES, "context_management": MAX_ENTRIES, "metadata": MAX_PAIRS}


def parse_request(body: bytes, **bounds: int) -> CreateResponse:
    """The request in this body. Refuses what this server cannot serve, with the path of the fault."""
    allowed = Bounds(**bounds)
    return parse_object(decode_object(body, allowed.max_json_values), allowed)


def parse_object(raw: dict[str, Any], bounds: Bounds = BOUNDS, size: int = 0) -> CreateResponse:
    """The same, of a body of `size` bytes that `decode_object` has read."""
    refuse_steering(raw)
    posted = {key: value for key, value in raw.items() if value is not None}
    refuse_stateful(posted)
    if "messages" in posted and "input" not in posted:
        raise refuse("missing_required_parameter", CHAT_COMPLETION, "input")
    if posted.get("model", "") == "":
        raise missing("model")
    if "input" not in posted:
        raise missing("input")
    known = {key: value for key, value in posted.items() if key in KNOWN}
    known["input"] = parse_input(known["input"], bounds)
    if "tools" in known:
        known["raw_tools"] = within(an_array(known["tools"], "tools"), bounds.max_tools, "tools", "max_tools")
        _refuse_full_namespaces(known["raw_tools"], bounds.max_tools)
        known["tools"] = parse_tools(known["raw_tools"], "tools")
    _refuse_many_tools(known.get("tools", []), known["input"], bounds.max_tools)
    if "tool_choice" in known:
        known["raw_tool_choice"] = known["tool_choice"]
        known["tool_choice"] = parse_tool_choice(known["tool_choice"], bounds.max_tools)
    for name, most in _LISTED.items():
        if isinstance(known.get(name), list | dict):
            within(known[name], most, name)
    if "text" in known:
        known["text"] = _parse_text(known["text"])
    known["raw"] = raw
    known["size"] = size
    request = validated(CreateResponse, known)
    warnings = warnings_about(posted, KNOWN, request)
    return request.model_copy(update={"warnings": warnings}) if warnings else request


def _parse_text(raw: object) -> TextConfig:
    text = {key: value for key, value in an_object(raw, "text").items() if value is not None}
    return shaped(TextConfig, text, "text")


def _refuse_full_namespaces(tools: list[Any], limit: int) -> None:
    """Refuses more tools in namespaces than there may be, before any of them is read."""
    held = sum(map(entries_of, tools))
    if held > limit:
        raise _too_many_tools(held, limit)


def _refuse_many_tools(tools: list[Tool], posted: str | list[InputItem], limit: int) -> None:
    """Refuses more tools than allowed in the whole turn: in `tools`, in `input` and in namespaces."""
    names = _names(tools)
    for index, item in enumerate(posted if isinstance(posted, list) else ()):
        if isinstance(item, ToolsItem):
            names |= _names(within(item.tools, limit, f"input[{index}].tools", "max_tools"))
    if len(names) > limit:
        raise _too_many_tools(len(names), limit)


def _too_many_tools(count: int, limit: int) -> ProblemError:
    most = f"at most {limit} are allowed{by_setting('max_tools')}"
    message = f"Invalid value for 'tools': there are {count} in all, and {most}."
    return refuse("invalid_value", message, "tools")


def _names(tools: Iterable[Tool]) -> set[tuple[str, str, str]]:
    """The tools a model would be offered: a namespace counts as its tools, a tool that is found twice counts once."""
    return {
        (
            space,
            tool.type,
            str(tool.member("name") or ""),
        )  # a type without names may have any value there
        for outer in tools
        for space, tool in (
            [(outer.name, inner) for inner in outer.tools] if isinstance(outer, NamespaceTool) else [("", outer)]
        )
    }
