"""What a response repeats of its request."""

from typing import Any

import msgspec
import pytest

from app.emitter.opening_response import opening_response
from app.parsing.request_body import parse_request
from tests.wire.foreign_judges import judge_response


def echo(**fields: object) -> dict[str, Any]:
    """The opening response to a request with these fields, as the wire carries it."""
    request = parse_request(msgspec.json.encode({"model": "m", "input": "Hi", **fields}))
    response = opening_response(request, id="resp_AM-1-abcdefgh", created_at=1_700_000_000)
    body: dict[str, Any] = msgspec.to_builtins(response)
    judge_response(body)
    return body


def test_what_was_not_given_is_told_by_its_default() -> None:
    """Every key is there, and null only where the wire allows it."""
    assert echo() == {
        "id": "resp_AM-1-abcdefgh",
        "object": "response",
        "created_at": 1_700_000_000,
        "completed_at": None,
        "status": "in_progress",
        "background": False,
        "error": None,
        "frequency_penalty": 0,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "presence_penalty": 0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": None,
        "safety_identifier": None,
        "service_tier": "default",
        "store": False,
        "temperature": 1,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1,
        "truncation": "disabled",
        "usage": None,
    }


@pytest.mark.parametrize(
    ("field", "posted", "expected"),
    [
        ("instructions", "Be brief.", "Be brief."),
        ("temperature", 0, 0),
        ("top_p", 0.0, 0.0),
        ("presence_penalty", -1, -1),
        ("frequency_penalty", 0.5, 0.5),
        ("top_logprobs", 3, 3),
        ("max_output_tokens", 16, 16),
        ("max_tool_calls", 2, 2),
        ("metadata", {"a": "b"}, {"a": "b"}),
        ("parallel_tool_calls", False, False),
        ("prompt_cache_key", "k", "k"),
        ("safety_identifier", "s", "s"),
        ("truncation", "auto", "auto"),
        ("service_tier", "auto", "auto"),
        ("service_tier", "flex", "flex"),
        ("service_tier", "warp", "default"),
        ("store", True, False),
        ("reasoning", {}, {"effort": None, "summary": None}),
        ("reasoning", {"effort": "low"}, {"effort": "low", "summary": None}),
        ("reasoning", {"summary": "auto", "later": 5}, {"effort": None, "summary": "auto"}),
        ("text", {"verbosity": "low"}, {"format": {"type": "text"}, "verbosity": "low"}),
        ("text", {"format": {"type": "json_object"}}, {"format": {"type": "json_object"}}),
        (
            "text",
            {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
            {
                "format": {
                    "type": "json_schema",
                    "name": "n",
                    "description": None,
                    "schema": {"type": "object"},
                    "strict": False,
                }
            },
        ),
        (
            "tools",
            [{"type": "function", "name": "f", "later": 1}],
            [{"type": "function", "name": "f", "description": None, "parameters": None, "strict": None, "later": 1}],
        ),
        ("tools", [{"type": "local_shell"}], [{"type": "local_shell"}]),
        ("tool_choice", "none", "none"),
        ("tool_choice", {"type": "function", "name": "f"}, {"type": "function", "name": "f"}),
        (
            "tool_choice",
            {"type": "allowed_tools", "tools": [{"type": "function", "name": "f"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
)
def test_what_was_given_is_told_again(field: str, posted: object, expected: object) -> None:
    """As it was, or as strict clients need it."""
    assert echo(**{field: posted})[field] == expected
