"""docs/http.md, made from the code: no endpoint, parameter, event or error can be forgotten there, or differ."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from starlette.routing import Route

from app.parsing.items import item_shapes
from app.parsing.shaped import tool_shapes
from app.parsing.unsupported import QUIET, STATEFUL
from app.protocol import events
from app.protocol.problems import ERROR_SHAPES
from app.protocol.request.create_response import KNOWN
from app.transports.openapi import document
from app.transports.websocket_connection import NAMES, RUNNING
from app.transports.websocket_frames import WAITING
from app.transports.websocket_guard import BURST, RATE
from tests.support.running import ROOT

WORDS: Final = tomllib.loads((ROOT / "tests" / "docs" / "http_words.toml").read_text())
HEAD: Final = """\
# HTTP API

<!-- Made from the code and tests/docs/http_words.toml by `pytest tests/docs --bless docs`. Do not edit. -->

AM Proxy serves the [OpenAI Responses API](https://platform.openai.com/docs/api-reference/responses). This page lists
what it accepts, what it sends, and what a client should do with each error. `GET /openapi.json` is the same in a form
for programs.

- The base URL is `http://127.0.0.1:8080/v1`. Every path also works without `/v1`.
- Send `Authorization: Bearer KEY` if the server has keys, and `Content-Type: application/json` with every body.
- Nothing is stored: every request contains its whole conversation.
- [fields.md](fields.md) lists every field of a request with what becomes of it.
"""
EXAMPLES: Final = (
    ("Reasoning, then text", "reasoning-then-text"),
    ("Calls, one after the other", "parallel-calls"),
)
"""Transcripts whose events show the order of a stream."""


def page(app: FastAPI) -> str:
    """The whole document, for the routes of this application."""
    schema = json.loads(document())
    sections = (
        HEAD,
        _endpoints(app),
        _parameters(schema["components"]["schemas"]["CreateResponse"]["properties"]),
        _refused(),
        _items_and_tools(),
        _headers(),
        _errors(),
        _events(),
        _websocket(),
        LIMITS,
    )
    return "\n".join(sections)


LIMITS: Final = """\
## Limits

[security.md](security.md#limits-on-what-clients-and-upstreams-send) lists every limit on sizes, counts and times, with
the answer to a request that exceeds it. [configuration.md](configuration.md) has the settings.
"""


def routes(app: FastAPI) -> set[str]:
    """Every route as `METHODS path`, without those that are the same without `/v1`, or with a slash."""
    found = {
        f"{', '.join(sorted(route.methods or ()))} {route.path.replace(':path', '')}"
        for each in app.routes
        for route in (each, *(each.original_router.routes if hasattr(each, "original_router") else ()))
        if isinstance(route, Route)
    }
    doubled = {each for each in found if each.replace(" /", " /v1/", 1) in found or each[:-1] in found}
    return found - doubled | {each for each in found if each.endswith(" /")}


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    cells = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    names = head.split(" | ")
    return "\n".join([f"| {head} |", f"|{' --- |' * len(names)}", *cells, ""])


def _endpoints(app: FastAPI) -> str:
    there = routes(app)
    rows = [
        (f"`{name}`", "no" if name in WORDS["open"] else "yes", text)
        for name, text in WORDS["endpoints"].items()
        if name in there
    ]
    return f"## Endpoints\n\n{_table('endpoint | key | what it does', rows)}"


def _parameters(properties: Mapping[str, Any]) -> str:
    rows = [
        (f"`{name}`", _kind(properties[name]), text, WORDS["relayed"].get(name, "passed on"))
        for name, text in WORDS["parameters"].items()
        if name in KNOWN
    ]
    about = (
        "`model` and `input` are required. `null` means that a parameter is not given. Where a parameter cannot be "
        "honoured, the answer says so in `x-am-warnings`; with `strict = true` it is a 400."
    )
    table = _table('parameter | value | with `via = "chat"`, `"litellm"` | with `via = "responses"`', rows)
    return f"## Parameters of a request\n\n{about}\n\n{table}"


def _kind(schema: Mapping[str, Any]) -> str:
    """The values that a schema allows, in a few words."""
    if "$ref" in schema:
        return "object"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"] if each != {"type": "null"}))
    kind: str = schema.get("type", "object")
    if kind in {"integer", "number"}:
        bounds = (("from", schema.get("minimum")), ("to", schema.get("maximum")))
        words = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
        return " ".join(["whole number" if kind == "integer" else "number", *words])
    if kind == "array":
        return "list of texts" if schema.get("items") == {"type": "string"} else "list"
    return {"string": "text", "boolean": "true or false"}.get(kind, kind)


def _refused() -> str:
    rows = [(f"`{name}`", message.replace(f"'{name}'", f"`{name}`")) for name, message in STATEFUL.items()]
    return (
        f"These are refused with a 400, because they need stored state:\n\n{_table('parameter | message', rows)}\n"
        "Parameters that would control the libraries behind the server (`api_base`, `extra_headers`, `timeout`, "
        "`litellm_…`, `aws_…`) are refused too. "
        f"{_named(sorted(QUIET))} are accepted and have no effect. Any other unknown parameter has no effect, with a "
        'warning; with `via = "responses"` it is passed on.\n'
    )


def _items_and_tools() -> str:
    items = [(f"`{kind}`", _first_sentence(shape)) for shape in item_shapes() for kind in _types(shape)]
    tools = [(f"`{kind}`", _first_sentence(shape)) for shape in tool_shapes() for kind in _types(shape)]
    return (
        f"## Items of `input`\n\n{_table('type | meaning', items)}\n"
        'An item of any other type is left out, with a warning; with `via = "responses"` it is passed on. An '
        "`item_reference` is refused: nothing is stored.\n\n"
        f"## Tools\n\n{_table('type | meaning', tools)}\n"
        "`web_search` works for models with `web_search = true`, and "
        "`image_generation` for models with `image_output = true`. Tools "
        'of any other type are left out, with a warning; with `via = "responses"` they are passed on. '
        "[codex.md](codex.md#how-each-kind-of-tool-behaves) shows what the model sees of each.\n"
    )


def _types(shape: type[Any]) -> tuple[str, ...]:
    """The values of `type` on the wire; none for the shape of all other types."""
    return tuple(getattr(shape.model_fields["type"].annotation, "__args__", ()))


def _first_sentence(shape: type[Any]) -> str:
    return (shape.__doc__ or "").split("\n")[0]


def _headers() -> str:
    sent = [(f"`{name}`", text) for name, text in WORDS["sent_headers"].items()]
    read = [(f"`{name}`", text) for name, text in WORDS["read_headers"].items()]
    return (
        f"## Headers\n\nOf an answer:\n\n{_table('header | meaning', sent)}\n"
        "Where there is no header for them (over a websocket, and for warnings that arise after the header of a "
        "streamed answer was sent), the warnings are in the member `x_am_warnings` of the first or last event.\n\n"
        f"Of a request; others have no effect:\n\n{_table('header | meaning', read)}"
    )


def _errors() -> str:
    rows = [
        (str(shape.status), f"`{code}`", f"`{shape.type}`", f"`{shape.failed_code}`", *WORDS["errors"][code].values())
        for code, shape in sorted(ERROR_SHAPES.items(), key=lambda each: (each[1].status, each[0]))
    ]
    table = _table("status | `code` | `type` | code in `response.failed` | meaning | send it again?", rows)
    return f"""\
## Errors

Until the first byte of an answer, an error is an HTTP status with this body. All four members are texts; `param` is the
path of the wrong value, or empty:

```json
{{"error": {{"message": "…", "type": "invalid_request_error", "param": "input[0].role", "code": "invalid_value"}}}}
```

After the first byte, the last event is `response.failed`, and its response has an `error` with a `code` of the fourth
column: clients such as Codex decide by it whether to try again. Decide by `status` and `code`, never by the message.

Without `stream`, an answer that breaks off is an HTTP error like any other: no part of it is returned, and SDKs repeat
the request. A refusal that the model writes is a `completed` answer. One that a limit or a filter ended is
`incomplete`; that includes a refusal which the model's server names as the reason of the end, as Claude's does
(`stop_reason: refusal` becomes `content_filter`). All have the status 200.

{table}"""


def _events() -> str:
    by_name = {str(each.__struct_config__.tag): each for each in _all_events(events.Event)}
    parts = [EVENTS]
    for title, beginnings in WORDS["event_groups"].items():
        rows = [
            (f"`{name}`", ", ".join(f"`{field}`" for field in kind.__struct_fields__[1:]), _first_sentence(kind))
            for name, kind in by_name.items()
            if name.startswith(tuple(beginnings))
        ]
        parts.append(f"### {title}\n\n{_table('event | members | meaning', rows)}")
    parts.append("### Two streams\n")
    for title, transcript in EXAMPLES:
        lines = (ROOT / "tests" / "wire" / "transcripts" / transcript / "events.jsonl").read_text().splitlines()
        parts.append(f"{title}:\n\n```text\n{_names_of(json.loads(line)['type'] for line in lines)}\n```\n")
    return "\n".join(parts)


EVENTS: Final = """\
## Events

With `stream: true`, the body is a sequence of server-sent events. Each has its name in `event:` and again as `type` in
the JSON of its `data:`, and a `sequence_number` that counts from 0 without gaps. The last line is `data: [DONE]`.

- The first event is `response.created`, the second `response.in_progress`. The last is `response.completed`,
  `response.incomplete` or `response.failed`, and its response contains the whole answer.
- An item is added once and done once, at the position `output_index` of the final output. A message and a reasoning
  item are never open at the same time; several calls may be.
- An item with `output_item.done` is complete. Run a call only then. A call that was cut off gets no `done`.
- After 15 seconds of silence (`keep_alive`) an event that changes nothing is sent: `response.in_progress`, or an empty
  delta of the open item.
- Ignore events and members that you do not know: with `via = "responses"` the upstream's own are passed on.
"""


def _all_events(kind: type[events.Event]) -> Iterable[type[events.Event]]:
    for each in kind.__subclasses__():
        if str(each.__struct_config__.tag).startswith("response."):
            yield each
        yield from _all_events(each)


def _names_of(names: Iterable[str]) -> str:
    """One name a line; repeated ones with their number."""
    counted: list[list[Any]] = []
    for name in names:
        if counted and counted[-1][0] == name:
            counted[-1][1] += 1
        else:
            counted.append([name, 1])
    return "\n".join(name if number == 1 else f"{name}   ({number} times)" for name, number in counted)


def _websocket() -> str:
    rows = [(str(code), text) for code, text in WORDS["close_codes"].items()]
    return f"""\
## The websocket

`GET /v1/responses` with an offer of a websocket, version 13. Each frame is one JSON object.

- **In:** `{{"type": "response.create", …}}` with the parameters of a request, but without `stream`, `stream_options`
  and `background`. `previous_response_id` continues the last response of this connection: send only the new items.
  In its errors and warnings, `input[i]` is an item of the frame, `history[i]` one that the connection remembers.
  `generate: false` stores the input for the next turn and asks no model.
- **Several turns at once:** turns run one after the other, except those with different values of `stream_id`. Such a
  value is 1 to 256 letters, digits, `_`, `-` and `.`, and each event and error of the turn repeats it. The last
  response of each value is remembered, and a frame with any value may continue it. A connection may use {NAMES} values
  and runs at most {RUNNING} turns at once; each takes a slot of its caller, and is refused if there is none. At most
  {WAITING} frames may wait.
- **Out:** the same events as over HTTP, one a frame, without `[DONE]`. A request that fails before its first event gets
  `{{"type": "error", "status": 400, "error": {{…}}}}`, with the error of the table above; the connection stays open.
  A frame that is no `response.create` gets its answer at once, even while a turn runs, and only a failed
  `response.create` makes the connection forget the response that it names.
- **Ending a turn:** `{{"type": "response.interrupt", "response_id": "…", "mode": "discard_partial_items"}}` ends a
  running response and closes its upstream. Answers: `response.interrupt.accepted`, `response.output_item.interrupted`
  for each item that is not finished, and `response.incomplete` with the finished items, the usage until then and
  `incomplete_details.reason: "interrupted"`; or `response.interrupt.failed`, if no such response runs.
  `{{"type": "response.cancel", "response_id": "…"}}` ends it in the same way but keeps unfinished text and reasoning,
  as `incomplete`. Without `response_id`, both are about the response of their `stream_id`. The next frame may continue
  the response.
- **Limits:** a message is as long as a body, `max_body_bytes`; one that is no `response.create` has at most 1 MiB, and
  the id in it 1,024 characters: longer ones get an error. Of frames under 1 KiB, {BURST:,} may come at once and
  {RATE} a second. A ping is sent every 20 seconds.

{_table("close code | meaning", rows)}"""


def _named(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
