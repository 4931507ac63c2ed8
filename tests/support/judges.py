"""Two foreign judges of what the server says: the `openai` package's types, and the Open Responses schema.

They catch different faults: the first knows every event and is strict about types, the second demands every field of
the response. Each validator is built once. Where a judge is wrong or behind the protocol, the allowance stands below,
by name.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, get_args

from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it comes without types
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import Field, TypeAdapter, ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

Event = Mapping[str, Any]

CODES_OPENAI_DOES_NOT_LIST: Final = {"context_length_exceeded", "insufficient_quota", "model_not_found"}
"""`error.code` values of `response.failed` that real clients act on, but that `ResponseError.code` does not name."""

REASONS_OPENAI_DOES_NOT_LIST: Final = {"interrupted", "steered"}
"""`incomplete_details.reason` of a response that the client ended; the types here are older than these endings."""

_FORGIVEN: Final = {
    ("error", "code"): CODES_OPENAI_DOES_NOT_LIST,
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
    "local_shell_call",
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

EVENTS_NEITHER_KNOWS: Final = "response.shell_call_command."
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
        faults = _openai_faults(_events(), event) + _schema_faults(event)
        assert not faults, f"{event.get('type')}: " + "; ".join(faults)


def judge_response(body: Event) -> None:
    """Refuse a response, as the body of `stream: false`, if either judge does."""
    faults = _openai_faults(_response(), body) + _faults_against("ResponseResource", _as_the_schema_knows_it(body))
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


@cache
def _events() -> TypeAdapter[Any]:
    """Rewrapped: the package's own discriminator means nothing to pydantic, which would then try all 53 types."""
    union = get_args(ResponseStreamEvent)[0]
    rewrapped: Any = Annotated[union, Field(discriminator="type")]
    return TypeAdapter(rewrapped)


@cache
def _response() -> TypeAdapter[Any]:
    return TypeAdapter(Response)


def _openai_faults(adapter: TypeAdapter[Any], event: Event) -> list[str]:
    try:
        adapter.validate_python(event, strict=True)
    except ValidationError as error:
        return [f"openai: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in _not_forgiven(error)]
    return []


def _not_forgiven(error: ValidationError) -> list[Any]:
    return [
        fault
        for fault in error.errors()
        if not (fault["loc"][-2:] == ("error", "code") and fault["input"] in CODES_OPENAI_DOES_NOT_LIST)
        and not (
            fault["loc"][-2:] == ("incomplete_details", "reason") and fault["input"] in REASONS_OPENAI_DOES_NOT_LIST
        )
    ]


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
    registry = Registry().with_resource("urn:open-responses", DRAFT202012.create_resource(_specification()))
    return Draft202012Validator({"$ref": f"urn:open-responses#/components/schemas/{name}"}, registry=registry)


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
    return [f"open responses: {fault.json_path}: {fault.message}" for fault in _validator(name).iter_errors(event)]
