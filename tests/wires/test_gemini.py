"""How the messages for a Gemini up to 2.5, whose calls have no ids, are made."""

from typing import Any

import pytest

from app.providers.gemini import in_steps
from app.providers.lookup import provider_of
from app.providers.provider import AskFacts
from app.upstreams.litellm_ask import arguments

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("provider", "model", "drops"),
    [
        ("gemini", "gemini-2.5-pro", True),
        ("gemini", "gemini-2.0-flash", True),
        ("gemini", "gemini-3-pro-preview", False),
        ("gemini", "gemini-flash-latest", False),
        ("gemini", "my-tuned-model", True),
        ("vertex_ai", "gemini-2.5-flash", True),
        ("vertex_ai_beta", "gemini-2.5-flash", True),
        ("vertex_ai", "1234567890", True),
        ("vertex_ai", "claude-sonnet-4-5", False),
        ("vertex_ai", "mistral-large", False),
        ("openai", "gemini-2.5-flash", False),
    ],
)
def test_only_the_older_gemini_is_told_equal_calls_in_steps(provider: str, model: str, *, drops: bool) -> None:
    function = {"name": "f", "arguments": "{}"}
    messages: list[Json] = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": each, "function": function} for each in "ab"]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    settings: Json = {"messages": messages}
    if (prepare := provider_of(provider).translation_of(model).prepare) is not None:
        settings = prepare(settings, AskFacts({"model": model, **settings}))
    assert ([message["role"] for message in settings["messages"]] == ["assistant", "tool"] * 2) is drops


def test_steps_take_no_longer_than_the_conversation() -> None:
    """Each call is compared with those of its group by one look."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(3_000)]
    outputs = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
    messages: list[Json] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "a", "tool_calls": calls},
        *outputs,
    ]
    steps = in_steps([*messages, {"role": "user", "content": "And?"}])
    assert len(steps) == 6_002
    assert [message["role"] for message in steps[:4]] == ["user", "assistant", "tool", "assistant"]
    assert [message.get("content") for message in steps[1:4]] == ["a", "x", None]


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
def test_a_step_of_many_calls_is_told_in_parts_that_lose_nothing(model: str) -> None:
    """Otherwise litellm would compare each call with all before it: eight thousand took it twenty seconds."""
    numbers = range(150)
    calls: list[Json] = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in numbers
    ]
    outputs: list[Json] = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"o{n}"} for n in numbers]
    user: Json = {"role": "user", "content": "Hi"}
    messages = [user, {"role": "assistant", "content": "a", "tool_calls": calls}, *outputs, user]
    given = arguments("gemini", {"model": model, "messages": messages}, base_url=None)["messages"]
    parts = [slice(0, 64), slice(64, 128), slice(128, 150)]
    assert given == [
        user,
        *(
            entry
            for number, part in enumerate(parts)
            for entry in (
                {"role": "assistant", "content": None if number else "a", "tool_calls": calls[part]},
                *outputs[part],
            )
        ),
        user,
    ]
    short = [user, {"role": "assistant", "content": "a", "tool_calls": calls[:64]}, *outputs[:64]]
    assert arguments("gemini", {"model": model, "messages": short}, base_url=None)["messages"] == short
