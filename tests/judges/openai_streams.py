"""Streams as OpenAI's own server sends them, for judges that must be silent about them."""

import json
from typing import Any

from tests.wire.servers.responses import ScriptedItem, answer, call, hosted, message, reasoning

Json = dict[str, Any]


def _streamed(*items: ScriptedItem) -> list[Json]:
    """Padded, and with other sealed content in the last event, as it is at OpenAI."""
    events: list[Json] = json.loads(json.dumps(answer(*items)))
    for event in events:
        if event["type"].endswith(".delta"):
            event["obfuscation"] = "k3Jd"
    for item in events[-1]["response"]["output"]:
        if item["type"] == "reasoning":
            item["encrypted_content"] = "gAAAAABo-sealed-again"
    return events


def _cut(stream: list[Json]) -> list[Json]:
    """The stream as it ends if `max_output_tokens` cuts its last item."""
    events: list[Json] = json.loads(json.dumps(stream))
    last = events[-1]
    last["type"] = "response.incomplete"
    last["response"]["usage"] |= {"output_tokens": 16, "total_tokens": 23}
    last["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    for item in (events[-2]["item"], last["response"]["output"][-1]):
        item["status"] = "incomplete"
    return events


def _custom_call() -> ScriptedItem:
    pieces = ("Good ", "morning")
    between = [
        *[{"type": "response.custom_tool_call_input.delta", "delta": piece} for piece in pieces],
        {"type": "response.custom_tool_call_input.done", "input": "".join(pieces)},
    ]
    born = {"id": "ctc_1", "type": "custom_tool_call", "status": "in_progress", "call_id": "call_1", "name": "say"}
    return ScriptedItem(between, {**born, "input": ""}, {**born, "status": "completed", "input": "".join(pieces)})


_ACTION = {"type": "search", "query": "weather in Paris"}
_SEARCHED = hosted("web_search_call", "ws_1", "in_progress", "searching", "completed", action=_ACTION)
_THOUGHT = reasoning("rs_0", "**Think", "ing**")
_SAID = message("msg_1", "Hi", " there")
_ARGUMENTS = ("get_weather", '{"location":', '"Paris"}')
TEXT = _streamed(_THOUGHT, _SAID)
CALL = _streamed(_THOUGHT, call("fc_1", "call_1", *_ARGUMENTS))
CALLS = _streamed(_SAID, call("fc_1", "call_1", *_ARGUMENTS), call("fc_2", "call_2", *_ARGUMENTS))
SEARCH = _streamed(_THOUGHT, _SEARCHED, _SAID)
CUSTOM = _streamed(_THOUGHT, _custom_call())
CUT = _cut(TEXT)
