"""Whatever a client posts, the answer is an ask or a problem."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.encode import encode
from app.dialects.chat.provider_state import FORM
from app.emitter.opening_response import opening_response
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.prompt.build import build
from app.prompt.other_items import CALLS_AS_TEXT, OUTPUTS_AS_TEXT, SKIPPED
from app.protocol.problems import ProblemError
from tests.support.chat_requests import ask, assistant, call, output, refuse_what_a_strict_server_refuses, thought, user

TESTS: Final = Path(__file__).parents[2]
FUNCTION: Final = {
    "type": "function",
    "name": "shell",
    "description": "Runs a command.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}},
}
BODIES: Final[tuple[dict[str, Any], ...]] = (
    {
        "model": "gpt-5.5",
        "instructions": "You are a coding agent.",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Sandboxed."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"},
            {"type": "function_call", "call_id": "a", "name": "shell", "arguments": '{"command":["ls"]}'},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "And then."}]},
            {"type": "function_call", "call_id": "b", "name": "view", "arguments": "{}", "namespace": "mcp"},
            {"type": "function_call_output", "call_id": "a", "output": "a.txt"},
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [
                    {"type": "input_text", "text": "A picture."},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "original"},
                ],
            },
            {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "x"}},
        ],
        "tools": [FUNCTION, {"type": "web_search"}, {"type": "custom", "name": "apply_patch"}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
        "client_metadata": {"x": "y"},
        "text": {"verbosity": "low"},
    },
    {
        "model": "m",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Hi"},
                    {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
                    {"type": "input_file", "file_url": "https://example.com/a.pdf"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "aGk="},
                    {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
                ],
            },
            {"role": "assistant", "content": "Hello.", "phase": "final_answer"},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [FUNCTION],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "shell"}]},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
        "temperature": 0.5,
        "top_p": 1,
        "max_output_tokens": 100,
        "top_logprobs": 2,
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "truncation": "auto",
    },
    {"model": "m", "input": "Hi", "user": "u", "tool_choice": "none", "previous_response_id": None},
    *[
        json.loads((TESTS / folder / "request.json").read_text(encoding="utf-8"))
        for folder in (
            "wire/transcripts/apply-patch",
            "wire/transcripts/calls-of-every-kind-interleaved",
            "wire/transcripts/codex-code-mode",
            "wire/transcripts/custom-tool-outside-allowed-tools",
            "transcripts/local-shell-as-one-line",
            "wire/transcripts/tool-found",
        )
    ],
)
WORDS: Final = (
    "",
    "a",
    "b",
    "auto",
    "none",
    "required",
    "shell",
    "user",
    "system",
    "message",
    "function",
    "function_call",
    "function_call_output",
    "reasoning",
    "item_reference",
    "input_image",
    "output_text",
    "allowed_tools",
    "json_object",
    "http://[::1",
    "https://example.com:x/",
    "data:,",
    "\x00\u2028\U0001f600",
    *CALLS_AS_TEXT,
    *OUTPUTS_AS_TEXT,
    *SKIPPED,
)
KEYS: Final = ("type", "role", "content", "output", "call_id", "name", "tools", "image_url", "later")

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
options = st.builds(
    ChatOptions,
    model=st.builds(
        ModelOptions,
        system_messages=st.sampled_from(["keep", "merge_head", "as_user"]),
        alternating_roles=st.booleans(),
        give_back_reasoning=st.booleans(),
        web_search=st.booleans(),
    ),
    declare_past_tools=st.booleans(),
    call_ids=st.sampled_from(["keep", "plain64", "plain40", "alphanumeric9"]),
    hints=st.frozensets(st.sampled_from(["metadata", "user", "service_tier"])),
)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a body, with each of its keys."""
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(child, dict | list):
            yield from places(child)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A real body with a few things replaced, removed, doubled or added."""
    body: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(1, 4))):
        node, key = draw(st.sampled_from(list(places(body))))
        deed = draw(st.sampled_from(["replace", "remove", "double"]))
        if deed == "replace":
            node[key] = draw(anything)
        elif deed == "remove":
            del node[key]
        elif isinstance(node, list):
            node.insert(draw(st.integers(0, len(node))), copy.deepcopy(node[key]))
        else:
            node[draw(st.sampled_from(KEYS))] = draw(anything)
        if not body:
            break
    return body


@given(body=mutated(), options=options)
@example(body=BODIES[0], options=ChatOptions())
@example(body=BODIES[1], options=ChatOptions())
@settings(deadline=None, max_examples=400)
def test_any_body_becomes_an_ask_that_a_strict_server_accepts_or_a_problem(
    body: dict[str, Any], options: ChatOptions
) -> None:
    """Nothing else is ever raised, and nothing that cannot be written is ever made."""
    try:
        request = parse_request(json.dumps(body).encode())
        built = build(request, rules=options, model="m", state_form=FORM)
        asked = encode(built.prompt, model="m", options=options)
    except ProblemError as error:
        event("refused: " + error.problem.code)
        refused_as = error.problem.shape.status
    else:
        msgspec.json.encode(opening_response(request, id="resp_1", created_at=0))
        msgspec.json.encode(asked)
        refuse_what_a_strict_server_refuses(asked.body)
        return
    assert refused_as == 400


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Items in any order at all, under few call ids, each with words of its own."""
    call_ids = st.sampled_from(["a", "b", "a_2", ""])
    items = [user("<first>")]
    for index in range(draw(st.integers(0, 12))):
        words = f"<{index}>"
        match draw(st.integers(0, 6)):
            case 0:
                items.append(user(words))
            case 1:
                items.append(assistant(words))
            case 2:
                items.append(thought(words))
            case 3 | 4:
                items.append(call(draw(call_ids), f"f{index}"))
            case _:
                items.append(output(draw(call_ids), words))
    return items


@given(items=histories())
@settings(deadline=None, max_examples=300)
def test_any_history_is_told_whole_and_in_an_order_that_a_strict_server_accepts(items: list[dict[str, Any]]) -> None:
    """Every word that was said and every output is there; only thoughts that led nowhere are not."""
    asked = ask(input=items)
    refuse_what_a_strict_server_refuses(asked.body)
    messages = json.dumps(asked.body["messages"])
    lost = [item for item in items if item["type"] != "reasoning" and words_of(item) not in messages]
    assert lost == []


def words_of(item: dict[str, Any]) -> str:
    """What makes an item known again."""
    match item["type"]:
        case "message":
            content = item["content"]
            words = content if isinstance(content, str) else content[0]["text"]
        case "function_call":
            words = item["name"]
        case _:
            words = item["output"]
    return str(words)


@given(st.binary(max_size=60) | anything.map(lambda value: json.dumps(value).encode()))
@settings(deadline=None)
def test_bytes_that_are_no_request_are_a_problem(body: bytes) -> None:
    """Whatever arrives on the socket."""
    with pytest.raises(ProblemError):
        parse_request(body)
