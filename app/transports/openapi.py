"""The OpenAPI document, made from the classes of requests and of responses."""

from functools import cache
from typing import Any, Final

import msgspec
from pydantic.json_schema import models_json_schema

from ..parsing.items import item_shapes
from ..parsing.shaped import tool_shapes
from ..protocol import events
from ..protocol.output_items import OutputItem
from ..protocol.problems import ERROR_SHAPES
from ..protocol.request.create_response import KNOWN, CreateResponse
from ..protocol.request.shape import Shape
from ..protocol.request.summaries import ServerItem
from ..protocol.request.tool_items import ToolItem
from ..protocol.response import Response
from ..searching.search_request import SearchRequest

Json = dict[str, Any]

_REFS: Final = "#/components/schemas/"
_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}


def _object(**properties: Json) -> Json:
    """The schema of an object that has all these properties."""
    return {"type": "object", "required": [*properties], "properties": properties}


_MODEL: Final = _object(id=_STRING, object={"const": "model"}, created=_INTEGER, owned_by=_STRING)
_MODELS: Final = _object(
    object={"const": "list"},
    data={"type": "array", "items": {"$ref": f"{_REFS}Model"}},
    models={"description": "The same models in the form that Codex reads.", "type": "array"},
)
SEARCH_PATH: Final = "/alpha/search"
"""The path of a search, as Codex has it."""
SUMMARY_PATH: Final = "/compact"
"""The path of a summary alone, below the path of responses."""
_COMPACTION: Final = _object(
    id=_STRING,
    object={"const": "response.compaction"},
    created_at=_INTEGER,
    output={"description": "The user's messages, and one compaction item.", "type": "array"},
    usage={"$ref": f"{_REFS}Usage"},
)
_COUNT: Final = _object(object={"const": "response.input_tokens"}, input_tokens={"type": "integer", "minimum": 0})
_SEARCHED: Final = _object(
    output={"description": "The results, pages and the time, as a model reads them.", "type": "string"},
    results={
        "type": "array",
        "items": _object(type={"const": "text_result"}, ref_id=_STRING, url=_STRING, title=_STRING, snippet=_STRING),
    },
)
_FRAME: Final[Json] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "event": {"type": "string"},
        "data": {
            "type": "string",
            "anyOf": [
                {"description": "The last line of every stream.", "const": "[DONE]"},
                {"contentMediaType": "application/json", "contentSchema": {"$ref": f"{_REFS}Event"}},
            ],
        },
    },
}
_ERROR: Final = _object(
    error=_object(
        message=_STRING,
        type={"enum": sorted({shape.type for shape in ERROR_SHAPES.values()})},
        param={"description": "The path of the wrong value; empty if there is none.", "type": "string"},
        code={"enum": sorted(ERROR_SHAPES)},
    )
)
_WHY: Final = {
    400: "The request is invalid; `param` says where.",
    401: "No key, or an unknown one.",
    404: "No such model or path. Responses are not stored.",
    405: "No such method at this path.",
    408: "The request took too long to arrive.",
    413: "The body is too large.",
    415: "Not JSON, or a Content-Encoding other than zstd and gzip.",
    421: "The Host header names another server.",
    426: "Only for a websocket.",
    429: "Too many requests, or no quota; `retry-after` says when to try again.",
    431: "The headers are too long.",
    500: "An internal error of this server.",
    501: "No server that searches is configured.",
    502: "The upstream failed.",
    503: "This server is full, or is stopping.",
    504: "The upstream was too slow.",
}
_ANY: Final = (400, 408, 421, 431, 500)
"""The errors that any request may get."""


@cache
def document() -> bytes:
    """The whole document, as JSON. It is the same for every configuration."""
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "AM Proxy", "version": "1", "description": "The OpenAI Responses API."},
            "security": [{"key": []}],
            "paths": _paths(),
            "components": {
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
                "schemas": {
                    **_request_schemas(),
                    **_response_schemas(),
                    "Model": _MODEL,
                    "Models": _MODELS,
                    "Error": _ERROR,
                },
            },
        }
    )


def _paths() -> Json:
    """Every path but those without `/v1`, which are the same again."""
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/?#]+$"}}
    status_schema = _object(status=_STRING)
    live = {"summary": "Whether the process is running", "security": [], "responses": _responses(status_schema, 405)}
    ready = {"summary": "Whether it accepts requests", "security": [], "responses": _responses(status_schema, 405, 503)}
    create = _like_a_turn("createResponse", "Ask a model", {"$ref": f"{_REFS}Response"})
    answer = create["responses"]["200"]
    answer["content"]["text/event-stream"] = {"itemSchema": _FRAME}
    answer["description"] = "The response; with `stream: true` its events, and `[DONE]` after the last."
    return {
        "/v1/responses": {
            "post": create,
            "get": {
                "operationId": "openWebsocket",
                "summary": "Ask over a websocket: frames of type `response.create` in, events out",
                "responses": _upgrade_responses(),
            },
        },
        f"/v1/responses{SUMMARY_PATH}": {
            "post": _like_a_turn("compactResponse", "Summarize a conversation", _COMPACTION)
        },
        "/v1/responses/input_tokens": {
            "post": _like_a_turn("countInput", "Count the tokens that a model would read", _COUNT)
        },
        f"/v1{SEARCH_PATH}": {"post": _search()},
        "/v1/models": {
            "get": {
                "operationId": "listModels",
                "summary": "The models you may use",
                "responses": _responses({"$ref": f"{_REFS}Models"}, 401, 405),
            }
        },
        "/v1/models/{name}": {
            "get": {
                "operationId": "showModel",
                "summary": "One model",
                "parameters": [name],
                "responses": _responses({"$ref": f"{_REFS}Model"}, 401, 404, 405),
            }
        },
        "/health/live": {"get": {"operationId": "live", **live}},
        "/health/ready": {"get": {"operationId": "ready", **ready}},
    }


def _like_a_turn(operation: str, summary: str, schema: Json) -> Json:
    """An operation that takes the body of a turn and returns something else."""
    body = {"application/json": {"schema": {"$ref": f"{_REFS}CreateResponse"}}}
    return {
        "operationId": operation,
        "summary": summary,
        "requestBody": {"required": True, "content": body},
        "responses": _responses(schema, 401, 404, 405, 413, 415, 429, 502, 503, 504),
    }


def _search() -> Json:
    """The operation that searches."""
    schema = {"$ref": f"{_REFS}{SearchRequest.__name__}"}
    return {
        "operationId": "search",
        "summary": "Search the web, as Codex does",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": _responses(_SEARCHED, 401, 405, 413, 415, 429, 501, 503),
    }


def _responses(schema: Json, *statuses: int) -> Json:
    """The responses of an operation: this schema, or one of these errors."""
    error = {"application/json": {"schema": {"$ref": f"{_REFS}Error"}}}
    return {
        "200": {"description": "Success.", "content": {"application/json": {"schema": schema}}},
        **{str(status): {"description": _WHY[status], "content": error} for status in sorted({*_ANY, *statuses})},
    }


def _upgrade_responses() -> Json:
    """The responses to an offer of a websocket. Without the offer it is a 426."""
    refused = {status: why for status, why in _responses({}, 401, 426).items() if status != "200"}
    return {"101": {"description": "A websocket; each frame is JSON, as an event is."}, **refused}


def _request_schemas() -> Json:
    """The schemas of requests, without internal fields. Unknown keys are ignored with a warning."""
    shapes: list[type[Shape]] = [CreateResponse, SearchRequest, *item_shapes(), *tool_shapes()]
    refs, found = models_json_schema([(shape, "validation") for shape in shapes], ref_template=f"{_REFS}{{model}}")
    # JSON Schema writes the end of a text as `$` in patterns
    schemas: Json = msgspec.json.decode(msgspec.json.encode(found["$defs"]).replace(rb'\\z"', b'$"'))
    request = schemas["CreateResponse"]
    request["properties"] = {name: schema for name, schema in request["properties"].items() if name in KNOWN}
    items = {"type": "array", "items": {"anyOf": [refs[shape, "validation"] for shape in item_shapes()]}}
    request["properties"]["input"]["anyOf"] = [{"type": "string"}, items]
    request["required"] = ["model", "input"]
    for base in (ServerItem, ToolItem):  # `input` names the classes made of these
        del schemas[base.__name__]
    schemas["Tool"] = {"anyOf": [refs[shape, "validation"] for shape in tool_shapes()]}
    return schemas


def _response_schemas() -> Json:
    """The schemas of the response and its events. What a Responses upstream adds is passed on unchanged."""
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and _is_event(kind)]
    items = OutputItem.__subclasses__()
    _, schemas = msgspec.json.schema_components([Response, *items, *kinds], ref_template=f"{_REFS}{{name}}")
    schemas["OutputItem"] = {"anyOf": [{"$ref": f"{_REFS}{item.__name__}"} for item in items]}
    every = {field.name for field in msgspec.structs.fields(Response) if field.default is not msgspec.UNSET}
    schemas["Response"]["required"] = [name for name in schemas["Response"]["properties"] if name in every]
    return {**schemas, "Event": {"anyOf": [{"$ref": f"{_REFS}{kind.__name__}"} for kind in kinds]}}


def _is_event(kind: type) -> bool:
    """Whether this is a class of events that this server makes, and not a base class."""
    if not issubclass(kind, events.Event) or issubclass(kind, events.Relayed):
        return False
    return "." in str(kind.__struct_config__.tag)
