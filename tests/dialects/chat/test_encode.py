"""CreateResponse -> what a chat server is asked."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from tests.support.chat_requests import ask, call, output

F = {"type": "function", "name": "f"}
SENT_F = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
BARE = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_the_shortest_request_asks_for_a_stream_with_usage() -> None:
    """And for nothing the client did not ask for."""
    assert ask() == (BARE, [])


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"presence_penalty": 1, "frequency_penalty": -1}, {"presence_penalty": 1, "frequency_penalty": -1}),
        ({"max_output_tokens": 16}, {"max_tokens": 16}),
        ({"top_logprobs": 2}, {"logprobs": True, "top_logprobs": 2}),
        ({"top_logprobs": 0}, {}),
        ({"include": ["message.output_text.logprobs"]}, {"logprobs": True}),
        ({"reasoning": {"effort": "low", "summary": "auto"}}, {"reasoning_effort": "low"}),
        ({"reasoning": {"summary": "auto"}}, {}),
        ({"text": {"format": {"type": "text"}, "verbosity": "high"}}, {"verbosity": "high"}),
        ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
        (
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
        ),
        (
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "n",
                        "schema": SCHEMA,
                        "strict": True,
                        "description": "N.",
                    }
                }
            },
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": SCHEMA, "description": "N.", "strict": True},
                }
            },
        ),
        ({"tools": []}, {}),
        ({"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}, {}),
        ({"tools": [F]}, {"tools": [SENT_F]}),
        ({"tools": [F], "tool_choice": "auto"}, {"tools": [SENT_F]}),
        ({"tools": [F], "tool_choice": "none"}, {"tools": [SENT_F], "tool_choice": "none"}),
        (
            {"tools": [F], "parallel_tool_calls": False},
            {"tools": [SENT_F], "parallel_tool_calls": False},
        ),
        ({"metadata": {"a": "b"}}, {}),
        ({"service_tier": "default", "store": True, "max_tool_calls": 2}, {}),
    ],
)
def test_settings_are_asked_for_under_the_names_chat_servers_know(
    fields: dict[str, Any], asked: dict[str, Any]
) -> None:
    assert ask(**fields) == ({**BARE, **asked}, [])


@pytest.mark.parametrize("name", ["user", "prompt_cache_key", "safety_identifier"])
def test_a_hint_that_is_not_passed_on_is_no_warning(name: str) -> None:
    """Hints change no answer, and many servers refuse them."""
    given: dict[str, Any] = {name: "it"}
    assert ask(**given) == (BARE, [])


def test_a_service_tier_that_is_not_passed_on_is_warned_of() -> None:
    """The caller would pay for it, or wait for it."""
    assert ask(service_tier="flex") == (BARE, ["'service_tier' has no effect on this model."])


def test_hints_are_passed_on_where_the_upstream_takes_them() -> None:
    """A setting of the model."""
    options = ChatOptions(hints=frozenset({"service_tier", "user", "metadata"}))
    asked = ask(options, service_tier="flex", user="u", prompt_cache_key="k")
    assert asked == ({**BARE, "service_tier": "flex", "user": "u"}, [])


def test_the_tools_of_the_past_are_declared_where_an_upstream_demands_it() -> None:
    """Anthropic refuses a history with calls but no tools; most others do not, and get none."""
    items = [call("A"), output("A")]
    asked = ask(ChatOptions(declare_past_tools=True), input=items, tools=[])
    declared = {
        "name": "f",
        "description": "A tool of an earlier turn; it cannot be called.",
        "parameters": {"type": "object", "properties": {}},
    }
    assert asked.body["tools"] == [{"type": "function", "function": declared}]
    assert asked.body["tool_choice"] == "none"
    assert "tools" not in ask(input=items, tools=[]).body
    assert "tools" not in ask(ChatOptions(declare_past_tools=True)).body
