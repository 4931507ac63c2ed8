"""Real request bodies, mutated: whatever is done to them, the answer is a response or a refusal in OpenAI's shape."""

import copy
import json
import random
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.demo_behaviours import WEATHER
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response
from tests.wire.program import Program

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city":"Rome"}',
}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "21 degrees"}]}

BODIES: list[dict[str, Any]] = [
    {"model": "demo", "input": "hello"},
    {  # as an agent's command line sends it
        "model": "demo",
        "instructions": "You are an agent.",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "the weather?"}]},
            {**REASONING, "encrypted_content": "abc", "content": None},
            CALL,
            OUTPUT,
            {
                "type": "message",
                "role": "assistant",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "Rome it is.", "annotations": []}],
            },
            {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin Patch"},
            {"type": "custom_tool_call_output", "call_id": "call_2", "output": "Done"},
        ],
        "tools": [
            WEATHER,
            {
                "type": "custom",
                "name": "apply_patch",
                "format": {"type": "grammar", "syntax": "lark", "definition": "x"},
            },
            {
                "type": "namespace",
                "name": "mcp",
                "description": "x",
                "tools": [{"type": "function", "name": "t", "parameters": {}}],
            },
            {"type": "web_search"},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "key",
        "client_metadata": {"a": "b"},
        "text": {"verbosity": "low"},
    },
    {  # as web frameworks send it: no types, no ids, images and files
        "model": "demo",
        "input": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
                    {"type": "input_image", "image_url": "https://example.com/x.png"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                ],
            },
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            {"role": "user", "content": "Please."},
        ],
        "temperature": 0.5,
        "top_p": 1,
        "max_output_tokens": 100,
        "top_logprobs": 2,
        "metadata": {"a": "b"},
        "truncation": "disabled",
        "user": "somebody",
        "service_tier": "auto",
        "text": {
            "format": {
                "type": "json_schema",
                "name": "w",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"a": {"$ref": "#/$defs/A"}},
                    "$defs": {"A": {"enum": ["x"]}},
                },
            }
        },
    },
    {
        "model": "demo",
        "input": "the weather, please",
        "stream": True,
        "tools": [WEATHER],
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "get_weather"}],
        },
        "stream_options": {"include_obfuscation": False},
    },
]

JUNK: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 1e308, 2**63, 10**30, "", " ", "x" * 300, "\u2028", "\x00", "\ud800", "😀"),
    *([], {}, [[]], [None], {"type": None}, {"type": "message"}, {"type": "function"}, {"": {}}, {"$ref": "#"}),
    *("message", "function_call", "function_call_output", "item_reference", "input_text", "demo", "none", "required"),
    *("http://127.0.0.1/", "https://example.com/a.png", "data:image/png;base64,", "file:///etc/passwd", "call_1"),
]


def mutate(body: Any, chance: random.Random) -> Any:
    """Change one place: replace, drop, double, wrap, rename, or put something there that stood elsewhere."""
    places = list(places_of(body))
    if not places:
        return copy.deepcopy(chance.choice(JUNK))
    holder, key = chance.choice(places)
    value = holder[key]
    match chance.randrange(7):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [value, copy.deepcopy(value)]
        case 2:
            holder[key] = {"type": "message", "content": value}
        case 3 if isinstance(holder, dict):
            holder[f"{key}_"] = holder.pop(key)
        case 3:
            holder.insert(0, copy.deepcopy(value))
        case 4:
            other, index = chance.choice(places)
            holder[key] = copy.deepcopy(other[index])
        case _:
            holder[key] = copy.deepcopy(chance.choice(JUNK))
    return body


def places_of(node: Any) -> list[tuple[Any, Any]]:
    """Every value within, as its holder and the key there."""
    pairs = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
    found = [(node, key) for key, _ in pairs]
    for _, value in pairs:
        found += places_of(value)
    return found


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A real body after up to three changes; now and then its bytes are damaged as well."""
    body: Any = copy.deepcopy(draw(st.sampled_from(BODIES)))
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311 — it only shuffles
    for _ in range(draw(st.integers(1, 3))):
        body = mutate(body, chance)
    raw = json.dumps(body).encode()
    match draw(st.integers(0, 15)):
        case 0:
            return raw[: draw(st.integers(0, len(raw)))]
        case 1:
            index = draw(st.integers(0, len(raw)))
            return raw[:index] + draw(st.binary(min_size=1, max_size=3)) + raw[index:]
        case _:
            return raw


def check_answer(answer: httpx.Response) -> None:
    if answer.status_code == httpx.codes.OK:
        if answer.headers["content-type"].startswith("text/event-stream"):
            events = events_of(answer.content)
            for event in events:
                keep_functions(event.get("response", {}))
            judged(events)
        else:
            judge_response(keep_functions(answer.json()))
        return
    assert answer.status_code in {400, 404}
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert "Traceback" not in error["message"]


def keep_functions(response: dict[str, Any]) -> dict[str, Any]:
    """Tools of other types are echoed as they were sent; what is wrong with those is their sender's affair."""
    if "tools" in response:
        response["tools"] = [tool for tool in response["tools"] if tool["type"] == "function"]
    return response


def test_no_body_breaks_the_server(demo: Program) -> None:
    before = len(demo.log)
    with httpx.Client(base_url=demo.url, headers={"content-type": "application/json"}, timeout=10) as client:

        @settings(max_examples=150, suppress_health_check=list(HealthCheck), database=None)
        @given(bodies())
        def fuzz(body: bytes) -> None:
            check_answer(client.post("/v1/responses", content=body))

        fuzz()
    assert [line for line in demo.log[before:].splitlines() if '"level": "error"' in line or "Traceback" in line] == []
