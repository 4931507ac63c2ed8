"""`GET /openapi.json`: the API, made from the classes of requests and answers. No configuration changes it."""

from collections import defaultdict
from functools import cache
from http import HTTPStatus
from typing import Any

from msgspec.json import schema_components

from ..tools.table import SHAPES
from ..types import events
from ..types.json import Json, encode
from ..types.problems import STATUS
from ..types.request import ITEMS, AllowedTools, ChosenTool, NamespaceTool, Request
from ..types.response import OutputItem, Response
from ..types.unsupported import KNOWN
from .search import SearchRequest

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}


@cache
def document() -> bytes:
    """The whole document."""
    model = _object(id=_STRING, object={"const": "model"}, created=_INTEGER, owned_by=_STRING)
    models = _object(object={"const": "list"}, data=_list(_ref("Model")))
    models["properties"]["models"] = {"description": "The same in the form that Codex reads.", "type": "array"}
    types = ["invalid_request_error", "rate_limit_error", "server_error"]
    error = _object(message=_STRING, type={"enum": types}, param=_STRING, code={"enum": sorted(STATUS)})
    schemas = {**_schemas(), "Model": model, "Models": models, "Error": _object(error=error)}
    told = {
        "openapi": "3.1.0",
        "info": {"title": "AM Proxy", "version": "1", "description": "The OpenAI Responses API."},
        "security": [{"key": []}],
        "paths": _paths(),
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "schemas": schemas},
    }
    text = encode(told).replace(f"{events.__package__}.".encode(), b"")  # in names of two classes
    return text.replace(rb'\\Z"', b'$"')  # the end of a text in patterns


def _paths() -> Json:
    """Every path; those of the API are also there without `/v1`."""
    result = _object(type={"const": "text_result"}, ref_id=_STRING, url=_STRING, title=_STRING, snippet=_STRING)
    searched = _object(output=_STRING, results=_list(result))
    output = {"description": "The user's messages, and one compaction item.", "type": "array"}
    compaction = _object(id=_STRING, created_at=_INTEGER, output=output, usage=_ref("Usage"))
    create = _post("createResponse", "Ask a model", "Request", _ref("Response"))
    data = {"contentMediaType": "application/json", "contentSchema": _ref("Event")}
    frame = {"type": "object", "properties": {"event": _STRING, "data": {"anyOf": [{"const": "[DONE]"}, data]}}}
    create["responses"]["200"]["content"]["text/event-stream"] = {"itemSchema": frame}
    upgrade = {"101": {"description": "A websocket; each frame is an event."}, **_errors(401, 426)}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/?#]+$"}}
    open_to_all: Json = {"security": [], "responses": _answers(_object(status=_STRING), 503)}
    frames = "Ask over a websocket: frames of type `response.create` in, events out"
    return {
        "/v1/responses": {
            "post": create,
            "get": {"operationId": "openWebsocket", "summary": frames, "responses": upgrade},
        },
        "/v1/responses/compact": {"post": _post("compact", "Summarize a conversation", "Request", compaction)},
        "/v1/responses/input_tokens": {
            "post": _post("count", "Count the tokens of a request", "Request", _object(input_tokens=_INTEGER))
        },
        "/v1/alpha/search": {"post": _post("search", "Search the web, as Codex does", "SearchRequest", searched, 501)},
        "/v1/models": {"get": _get("listModels", "The models you may use", _ref("Models"))},
        "/v1/models/{name}": {"get": {**_get("showModel", "One model", _ref("Model"), 404), "parameters": [name]}},
        "/health/live": {"get": {"operationId": "live", "summary": "Whether the process runs", **open_to_all}},
        "/health/ready": {"get": {"operationId": "ready", "summary": "Whether it takes requests", **open_to_all}},
    }


def _schemas() -> Json:
    """The schemas of requests, of the response and of its events. Unknown members of requests are ignored."""
    items: dict[Any, list[str]] = defaultdict(list)
    for kind, shape in {**ITEMS, **SHAPES.items}.items():
        items[shape].append(kind)
    tools = {shape: [kind] for kind, shape in {**SHAPES.tools, "namespace": NamespaceTool}.items()}
    made = [kind for kind in vars(events).values() if isinstance(kind, type) and _is_event(kind)]
    outputs = OutputItem.__subclasses__()
    posted: list[Any] = [Request, SearchRequest, ChosenTool, AllowedTools, *items, *tools]
    every = [*posted, Response, *outputs, *made]
    found, schemas = schema_components(every, ref_template="#/components/schemas/{name}")
    refs = dict(zip(every, found, strict=True))
    at = {shape: schemas[ref["$ref"].rpartition("/")[2]] for shape, ref in refs.items()}
    for shape, kinds in {**items, **tools, AllowedTools: ["allowed_tools"]}.items():
        members = at[shape]["properties"] = {**at[shape]["properties"], "type": {"enum": kinds}}
        members.pop("members", None)  # what only this server keeps of it
        if "tools" in members and shape is not AllowedTools:
            members["tools"] = _list(_ref("AnyTool"))
        required = {*at[shape]["required"], *(() if kinds == ["message"] else ("type",))} & members.keys()
        at[shape]["required"] = sorted(required)
    fields = at[Request]["properties"]
    at[Request]["properties"] = fields = {name: fields[name] for name in fields if name in KNOWN}
    fields["input"] = {"anyOf": [_STRING, _list({"anyOf": [refs[shape] for shape in items]})]}
    words = {"enum": ["auto", "none", "required"]}
    fields["tool_choice"] = {"anyOf": [words, refs[ChosenTool], refs[AllowedTools]]}
    fields["tools"] = _list(_ref("AnyTool"))
    schemas["AnyTool"] = {"anyOf": [refs[shape] for shape in tools]}
    schemas["OutputItem"] = {"anyOf": [refs[item] for item in outputs]}
    at[Response]["required"] = [*at[Response]["properties"]]
    return {**schemas, "Event": {"anyOf": [refs[kind] for kind in made]}}


def _is_event(kind: type) -> bool:
    """Whether this is a class of events, and not a base class."""
    return issubclass(kind, events.Event) and "." in str(kind.__struct_config__.tag)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(**properties: Json) -> Json:
    return {"type": "object", "required": [*properties], "properties": properties}


def _post(operation: str, summary: str, posted: str, schema: Json, *statuses: int) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": _ref(posted)}}}
    answers = _answers(schema, 401, 404, 413, 415, 429, 502, 503, 504, *statuses)
    return {"operationId": operation, "summary": summary, "requestBody": body, "responses": answers}


def _get(operation: str, summary: str, schema: Json, *statuses: int) -> Json:
    return {"operationId": operation, "summary": summary, "responses": _answers(schema, 401, *statuses)}


def _answers(schema: Json, *statuses: int) -> Json:
    answer = {"description": "Success.", "content": {"application/json": {"schema": schema}}}
    return {"200": answer, **_errors(*statuses)}


def _errors(*statuses: int) -> Json:
    """These errors, and those that any request may get."""
    content = {"application/json": {"schema": _ref("Error")}}
    told = sorted({400, 405, 408, 421, 431, 500, *statuses})
    return {str(status): {"description": HTTPStatus(status).phrase, "content": content} for status in told}
