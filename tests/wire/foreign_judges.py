"""Two foreign judges of what the server says: the `openai` package's types, and the Open Responses schema.

They catch different faults: the first knows every event and is strict about types, the second demands every field of
the response. Each validator is built once. Where a judge is wrong or behind the protocol, the allowance stands below,
by name.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema_rs import Draft202012Validator
from pydantic import ValidationError

from tests.judges.types_judge import UNLISTED_CODES, openai_types

Event = Mapping[str, Any]

REASONS_OPENAI_DOES_NOT_LIST: Final = ("interrupted",)
"""`incomplete_details.reason` of a response that the client ended; the types here are older than these endings."""

_FORGIVEN: Final[dict[tuple[int | str, ...], tuple[str, ...]]] = {
    ("error", "code"): UNLISTED_CODES,
    ("incomplete_details", "reason"): REASONS_OPENAI_DOES_NOT_LIST,
}

NAMES_OF_RAW_REASONING: Final = {
    "response.reasoning_text.delta": "response.reasoning.delta",
    "response.reasoning_text.done": "response.reasoning.done",
}
"""OpenAI and every client say `reasoning_text`; the Open Responses schema knows the same events without `_text`."""

ITEMS_OPEN_RESPONSES_DOES_NOT_KNOW: Final = {
    "apply_patch_call",
    "custom_tool_call",
    "image_generation_call",
    "web_search_call",
    "shell_call",
    "tool_search_call",
}
"""Items of OpenAI's API that the schema has no word for; the `openai` types judge them alone."""

EVENTS_OPEN_RESPONSES_DOES_NOT_KNOW: Final = (
    "response.custom_tool_call_input.",
    "response.image_generation_call.",
    "response.web_search_call.",
)
"""As above."""

EVENTS_NEITHER_KNOWS: Final = (
    "response.shell_call_command.",
    "response.interrupt.",
    "response.output_item.interrupted",
)
"""OpenAI's API sends them, and openai-node 7 checks that they fit their item; these Python types are older.
The grammar judges them."""

TOOLS_OPEN_RESPONSES_KNOWS: Final = {"function"}
"""The others are echoed as the client sent them, and are left out before the schema judges the echo."""

TYPES_IN_A_CHOICE_OPEN_RESPONSES_KNOWS: Final = {"function", "allowed_tools"}
"""A choice of another tool is echoed, too; `auto` stands in its place before the schema judges it."""

SCHEMA_OF_JSON_SCHEMA_FORMAT: Final = None
"""What the Open Responses schema demands as `text.format.schema` of a response: null and nothing else. The client's
schema is echoed, as OpenAI does; null stands in its place before the schema judges it."""


def judge(events: Iterable[Event]) -> None:
    """Refuse a stream if either judge refuses one of its events."""
    for event in events:
        if str(event.get("type")).startswith(EVENTS_NEITHER_KNOWS):
            continue
        faults = _openai_faults(openai_types().event, event) + _schema_faults(event)
        assert not faults, f"{event.get('type')}: " + "; ".join(faults)


def judge_response(body: Event) -> None:
    """Refuse a response, as the body of `stream: false`, if either judge does."""
    faults = _openai_faults(openai_types().response, body)
    faults += _faults_against("ResponseResource", _as_the_schema_knows_it(body))
    assert not faults, "; ".join(faults)


def judge_compaction(body: Event) -> None:
    """Refuse the answer of `/responses/compact` if the Open Responses schema does.

    The `openai` types are not asked: in an output they know of no message of the user's, though the API gives them.
    """
    faults = _faults_against("CompactResource", body)
    assert not faults, "; ".join(faults)


def judge_error_frame(frame: Event) -> None:
    """Refuse an error frame of a websocket if the Open Responses schema does. The `openai` types know no such thing."""
    faults = _faults_against("WebSocketErrorEvent", frame)
    assert not faults, "; ".join(faults)


def _openai_faults(adapter: Any, event: Event) -> list[str]:
    try:
        adapter.validate_python(event, strict=True)
    except ValidationError as error:
        return [f"openai: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in _not_forgiven(error)]
    return []


def _not_forgiven(error: ValidationError) -> list[Any]:
    return [fault for fault in error.errors() if fault["input"] not in _FORGIVEN.get(fault["loc"][-2:], ())]


@cache
def _specification() -> dict[str, Any]:
    text = (files("llm_comply") / "specs" / "openresponses.json").read_text(encoding="utf-8")
    specification: dict[str, Any] = json.loads(text)
    return specification


@cache
def _schema_of_event() -> dict[str, str]:
    """The schema of each event, by the `type` it demands: the file's own names are not to be trusted."""
    schemas = _specification()["components"]["schemas"]
    return {
        schema["properties"]["type"]["enum"][0]: name
        for name, schema in schemas.items()
        if name.endswith("StreamingEvent")
    }


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", **_specification()})


def _schema_faults(event: Event) -> list[str]:
    kind = str(event.get("type"))
    if kind.startswith(EVENTS_OPEN_RESPONSES_DOES_NOT_KNOW) or _is_beyond_the_schema(event.get("item")):
        return []
    known = NAMES_OF_RAW_REASONING.get(kind, kind)
    name = _schema_of_event().get(known)
    if name is None:
        return [f"open responses: unknown event {kind}"]
    result = {**event, "type": known}
    if "response" in result:
        result["response"] = _as_the_schema_knows_it(result["response"])
    return _faults_against(name, result)


def _as_the_schema_knows_it(response: Event) -> dict[str, Any]:
    result = dict(response)
    if isinstance(result.get("output"), list):
        result["output"] = [item for item in result["output"] if not _is_beyond_the_schema(item)]
    tools, text = result.get("tools"), result.get("text")
    if isinstance(tools, list):
        result["tools"] = [tool for tool in tools if tool.get("type") in TOOLS_OPEN_RESPONSES_KNOWS]
    choice = result.get("tool_choice")
    if isinstance(choice, dict) and not _types_in(choice) <= TYPES_IN_A_CHOICE_OPEN_RESPONSES_KNOWS:
        result["tool_choice"] = "auto"
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
        result["text"] = {**result["text"], "format": {**form, "schema": SCHEMA_OF_JSON_SCHEMA_FORMAT}}
    return result


def _types_in(choice: Event) -> set[Any]:
    tools = choice.get("tools")
    return {tool.get("type") for tool in (choice, *(tools if isinstance(tools, list) else ()))}


def _is_beyond_the_schema(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in ITEMS_OPEN_RESPONSES_DOES_NOT_KNOW


def _faults_against(name: str, event: Event) -> list[str]:
    return [f"open responses: {fault.instance_path}: {fault.message}" for fault in _validator(name).iter_errors(event)]
