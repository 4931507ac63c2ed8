"""Streams as OpenAI's own server sends them, for judges that must be silent about them."""

import copy
from typing import Any

Json = dict[str, Any]

_SETTINGS: Json = {
    "object": "response",
    "created_at": 1_760_000_000,
    "background": False,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "model": "gpt-5-2025-08-07",
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": "medium", "summary": "detailed"},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
}
_USAGE: Json = {
    "input_tokens": 36,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 87,
    "output_tokens_details": {"reasoning_tokens": 9},
    "total_tokens": 123,
}
_ID = "resp_68d4f2a1b3c48190a1"


def _response(status: str, output: list[Json]) -> Json:
    usage = None if status == "in_progress" else _USAGE
    return {"id": _ID, **_SETTINGS, "status": status, "output": output, "usage": usage}


def _event(kind: str, **fields: Any) -> Json:
    return {"type": f"response.{kind}", **fields}


def _whole(*items: list[Json]) -> list[Json]:
    """A stream around items; the sealed content of the last event is another one, as it is at OpenAI."""
    events = [
        _event("created", response=_response("in_progress", [])),
        _event("in_progress", response=_response("in_progress", [])),
        *[event for item in items for event in item],
    ]
    output = copy.deepcopy([event["item"] for event in events if event["type"] == "response.output_item.done"])
    for item in output:
        if "encrypted_content" in item:
            item["encrypted_content"] = "gAAAAABo-sealed-again"
    events.append(_event("completed", response=_response("completed", output)))
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _reasoning(index: int) -> list[Json]:
    item = {"id": f"rs_{index}", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABo-begun"}
    about = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    part = {"type": "summary_text", "text": "**Thinking**"}
    return [
        _event("output_item.added", output_index=index, item=item),
        _event("reasoning_summary_part.added", **about, part={**part, "text": ""}),
        _event("reasoning_summary_text.delta", **about, delta="**Think", obfuscation="k3Jd"),
        _event("reasoning_summary_text.delta", **about, delta="ing**", obfuscation="a8"),
        _event("reasoning_summary_text.done", **about, text=part["text"]),
        _event("reasoning_summary_part.done", **about, part=part),
        _event(
            "output_item.done", output_index=index, item={**item, "summary": [part], "encrypted_content": "gAAAAABo"}
        ),
    ]


def _message(index: int) -> list[Json]:
    item: Json = {"id": f"msg_{index}", "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    about = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part: Json = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    link = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "A", "url": "https://a.example"}
    done = {**part, "text": "Hi there", "annotations": [link]}
    return [
        _event("output_item.added", output_index=index, item=item),
        _event("content_part.added", **about, part=part),
        _event("output_text.delta", **about, delta="Hi", logprobs=[], obfuscation="pQ2"),
        _event("output_text.annotation.added", **about, annotation_index=0, annotation=link),
        _event("output_text.delta", **about, delta=" there", logprobs=[], obfuscation="x"),
        _event("output_text.done", **about, text="Hi there", logprobs=[]),
        _event("content_part.done", **about, part=done),
        _event("output_item.done", output_index=index, item={**item, "status": "completed", "content": [done]}),
    ]


def _call(index: int) -> list[Json]:
    item: Json = {
        "id": f"fc_{index}",
        "type": "function_call",
        "status": "in_progress",
        "arguments": "",
        "call_id": f"call_{index}",
        "name": "get_weather",
    }
    about = {"item_id": item["id"], "output_index": index}
    arguments = '{"location":"Paris"}'
    return [
        _event("output_item.added", output_index=index, item=item),
        _event("function_call_arguments.delta", **about, delta='{"location":', obfuscation="d"),
        _event("function_call_arguments.delta", **about, delta='"Paris"}', obfuscation="ee"),
        _event("function_call_arguments.done", **about, name=item["name"], arguments=arguments),
        _event("output_item.done", output_index=index, item={**item, "status": "completed", "arguments": arguments}),
    ]


def _custom_call(index: int) -> list[Json]:
    item: Json = {
        "id": f"ctc_{index}",
        "type": "custom_tool_call",
        "status": "in_progress",
        "call_id": f"call_{index}",
        "input": "",
        "name": "say",
    }
    about = {"item_id": item["id"], "output_index": index}
    return [
        _event("output_item.added", output_index=index, item=item),
        _event("custom_tool_call_input.delta", **about, delta="Good ", obfuscation="d4"),
        _event("custom_tool_call_input.delta", **about, delta="morning", obfuscation="f"),
        _event("custom_tool_call_input.done", **about, input="Good morning"),
        _event("output_item.done", output_index=index, item={**item, "status": "completed", "input": "Good morning"}),
    ]


def _cut(stream: list[Json]) -> list[Json]:
    """The stream as it ends if `max_output_tokens` cuts its last item."""
    events = copy.deepcopy(stream)
    last = events[-1]
    last["type"] = "response.incomplete"
    details, usage = {"reason": "max_output_tokens"}, {**_USAGE, "output_tokens": 16, "total_tokens": 52}
    last["response"] |= {"status": "incomplete", "incomplete_details": details, "usage": usage}
    for item in (events[-2]["item"], last["response"]["output"][-1]):
        item["status"] = "incomplete"
    return events


def _search(index: int) -> list[Json]:
    item: Json = {"id": f"ws_{index}", "type": "web_search_call", "status": "in_progress"}
    about = {"item_id": item["id"], "output_index": index}
    action = {"type": "search", "query": "weather in Paris"}
    return [
        _event("output_item.added", output_index=index, item=item),
        *[_event(f"web_search_call.{verb}", **about) for verb in ("in_progress", "searching", "completed")],
        _event("output_item.done", output_index=index, item={**item, "status": "completed", "action": action}),
    ]


def _code(index: int) -> list[Json]:
    item: Json = {
        "id": f"ci_{index}",
        "type": "code_interpreter_call",
        "status": "in_progress",
        "code": "",
        "container_id": "cntr_1",
        "outputs": None,
    }
    about = {"item_id": item["id"], "output_index": index}
    return [
        _event("output_item.added", output_index=index, item=item),
        _event("code_interpreter_call.in_progress", **about),
        _event("code_interpreter_call_code.delta", **about, delta="1+", obfuscation="s"),
        _event("code_interpreter_call_code.delta", **about, delta="1", obfuscation="sd"),
        _event("code_interpreter_call_code.done", **about, code="1+1"),
        _event("code_interpreter_call.interpreting", **about),
        _event("code_interpreter_call.completed", **about),
        _event("output_item.done", output_index=index, item={**item, "status": "completed", "code": "1+1"}),
    ]


TEXT = _whole(_reasoning(0), _message(1))
CALL = _whole(_reasoning(0), _call(1))
CALLS = _whole(_message(0), _call(1), _call(2))
SEARCH = _whole(_reasoning(0), _search(1), _message(2))
CODE = _whole(_code(0), _message(1))
CUSTOM = _whole(_reasoning(0), _custom_call(1))
CUT = _cut(TEXT)
