"""`GET /openapi.json`: the API, made from the classes of requests and answers. No configuration changes it."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec.json import schema_components

from ..tools.table import SHAPES
from ..types import events
from ..types.json import Json, encode, without
from ..types.problems import STATUS
from ..types.request import ITEMS, ChosenTool, Message, NamespaceTool, Request
from ..types.response import OutputItem, Response
from ..types.unsupported import KNOWN
from .search import SearchRequest

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_ERROR = {"$ref": "#/components/responses/Error"}


@cache
def document() -> bytes:
    """The whole document."""
    error = _object(message=_STRING, type=_STRING, param=_STRING, code={"enum": sorted(STATUS)})
    told = {
        "openapi": "3.1.0",
        "info": {"title": "AM Proxy", "version": "1", "description": "The OpenAI Responses API."},
        "security": [{"key": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
            "responses": {"Error": _answer("An error.", _object(error=error))},
        },
    }
    text = encode(told).replace(f"{events.__package__}.".encode(), b"")  # in names of two classes
    return text.replace(rb'\\Z"', b'$"')  # the end of a text in patterns


def _paths() -> Json:
    """Every path; those of the API are also there without `/v1`."""
    result = _object(type={"const": "text_result"}, ref_id=_STRING, url=_STRING, title=_STRING, snippet=_STRING)
    searched = _object(output=_STRING, results=_list(result))
    output = {"description": "The user's messages, and one compaction item.", "type": "array"}
    compaction = _object(id=_STRING, created_at=_INTEGER, output=output, usage=_ref("Usage"))
    model = _object(id=_STRING, object={"const": "model"}, created=_INTEGER, owned_by=_STRING)
    models = _object(object={"const": "list"}, data=_list(model))
    status = {"default": _answer("Its state.", _object(status=_STRING))}
    state: Json = {"summary": "Whether it runs, and takes requests", "security": [], "responses": status}
    create = _operation("Ask a model", _ref("Response"), "Request")
    data = {"contentMediaType": "application/json", "contentSchema": _ref("Event")}
    frame = {"type": "object", "properties": {"event": _STRING, "data": {"anyOf": [{"const": "[DONE]"}, data]}}}
    create["responses"]["200"]["content"]["text/event-stream"] = {"itemSchema": frame}
    socket = {
        "summary": "Ask over a websocket: frames of type `response.create` in, events out",
        "responses": {"101": {"description": "A websocket."}, "default": _ERROR},
    }
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/?#]+$"}}
    count = _operation("Count the tokens of a request", _object(input_tokens=_INTEGER), "Request")
    return {
        "/v1/responses": {"post": create, "get": socket},
        "/v1/responses/compact": {"post": _operation("Summarize a conversation", compaction, "Request")},
        "/v1/responses/input_tokens": {"post": count},
        "/v1/alpha/search": {"post": _operation("Search the web, as Codex does", searched, "SearchRequest")},
        "/v1/models": {"get": _operation("The models you may use", models)},
        "/v1/models/{name}": {"get": {**_operation("One model", model), "parameters": [name]}},
        "/health/live": {"get": state},
        "/health/ready": {"get": state},
    }


def _schemas() -> Json:
    """The schemas of requests, of the response and of its events. Unknown members of requests are ignored."""
    made = [*_events_of(events.Event)]
    outputs = OutputItem.__subclasses__()
    items = without({**ITEMS, **SHAPES.items}, "computer_call_output")  # its shape is not what is posted
    tools = {**SHAPES.tools, "namespace": NamespaceTool}
    every = [*made, *outputs, *items.values(), *tools.values(), ChosenTool, Request, Response, SearchRequest]
    found, schemas = schema_components(every, ref_template="#/components/schemas/{name}")
    refs = dict(zip(every, found, strict=True))
    request = schemas["Request"]
    request["properties"] = {name: schema for name, schema in request["properties"].items() if name in KNOWN}
    request["properties"] |= {
        "input": {"anyOf": [_STRING, _list({"anyOf": [refs[Message], _one_of(items, refs)]})]},
        "tools": _list(_ref("Tool")),
        "tool_choice": {"anyOf": [{"enum": ["auto", "none", "required"]}, refs[ChosenTool]]},
    }
    for shape in (*items.values(), *tools.values()):
        members = schemas[refs[shape]["$ref"].rpartition("/")[2]]["properties"]
        members.pop("members", None)  # it is made of the others
        if "tools" in members:
            members["tools"] = _list(_ref("Tool"))
    schemas["Tool"] = _one_of(tools, refs)
    schemas["Response"]["required"] = [*schemas["Response"]["properties"]]
    schemas["OutputItem"] = {"anyOf": [refs[item] for item in outputs]}
    return {**schemas, "Event": {"anyOf": [refs[kind] for kind in made]}}


def _one_of(shapes: Mapping[str, Any], refs: Mapping[Any, Json]) -> Json:
    """An object of the shape that its `type` has, or of a type that has none."""
    kinds = [{"allOf": [refs[shape], _object(type={"const": kind})]} for kind, shape in shapes.items()]
    return {"anyOf": [*kinds, _object(type={"type": "string", "not": {"enum": [*shapes]}})]}


def _events_of(base: type[events.Event]) -> Iterator[type[events.Event]]:
    """The classes of events, also of those that tools have; a base class has no `type`."""
    for kind in base.__subclasses__():
        if "." in str(kind.__struct_config__.tag):
            yield kind
        yield from _events_of(kind)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(**properties: Json) -> Json:
    return {"type": "object", "required": [*properties], "properties": properties}


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _operation(summary: str, schema: Json, posted: str = "") -> Json:
    """A request, and its answer."""
    answers = {"200": _answer("Success.", schema), "default": _ERROR}
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(posted)}}}}
    return {"summary": summary, "responses": answers, **(body if posted else {})}
