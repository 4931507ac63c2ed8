"""Past items that chat servers do not know -> chat messages: hosted calls, reasoning, images that were made."""

from typing import Any

import pytest

from app.prompt.item_reader import UNREADABLE
from app.prompt.other_items import CALLS_AS_TEXT, CONTEXT_LENGTH, OUTPUTS_AS_TEXT, SKIPPED
from tests.support.chat_requests import ask, assistant, messages, refusal, user

USER_HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "cats"}},
            '[web_search_call] {"action":{"query":"cats"}}',
        ),
        (
            {"type": "mcp_call", "name": "f", "arguments": "{}", "output": "4", "error": None},
            '[mcp_call] {"name":"f","arguments":"{}","output":"4"}',
        ),
    ],
)
def test_hosted_tools_of_the_past_are_told_as_text(item: dict[str, Any], expected: str) -> None:
    """What the assistant did is not lost, and its pictures do not flood the model."""
    asked = ask(input=[user("Hi"), item, assistant("Cats.")])
    assert asked.body["messages"] == [USER_HI, {"role": "assistant", "content": f"{expected}\n\nCats."}]
    assert asked.warnings == [f"input[1] is sent as text: this model does not know '{item['type']}'."]


def test_every_listed_item_is_told_or_skipped_with_a_warning() -> None:
    """Never silently."""
    for kind in (*CALLS_AS_TEXT, *OUTPUTS_AS_TEXT):
        asked = ask(input=[user("Hi"), {"type": kind, "call_id": "c"}])
        assert asked.warnings == [f"input[1] is sent as text: this model does not know '{kind}'."]
        assert asked.body["messages"][1]["content"] == f"[{kind}]"
    for kind in SKIPPED:
        asked = ask(input=[user("Hi"), {"type": kind}])
        assert asked.warnings == [f"input[1] was left out: '{kind}' cannot be sent to this model."]
        assert asked.body["messages"] == [USER_HI]


def test_context_is_cut_to_a_bearable_length() -> None:
    """Code and search results can be endless."""
    asked = ask(input=[user("Hi"), {"type": "code_interpreter_call", "code": "x" * 99_999}])
    assert len(asked.body["messages"][1]["content"]) == CONTEXT_LENGTH + 1


@pytest.mark.parametrize("kind", ["from_the_future", ""])
def test_items_that_cannot_be_told_are_refused(kind: str) -> None:
    """Leaving them out would change what the conversation means."""
    assert refusal(user("Hi"), {"type": kind}) == ("invalid_value", "input[1].type")


def test_reasoning_in_its_own_words_goes_before_its_summary() -> None:
    """The words are what the model's server wants back."""
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "long"}, {"type": "reasoning_text", "text": "winded"}],
    }
    assert messages(item, assistant("Yes.")) == [
        {"role": "assistant", "content": "Yes.", "reasoning_content": "long\n\nwinded"}
    ]


def test_reasoning_that_nobody_here_can_read_is_left_out_with_a_warning() -> None:
    """It was encrypted by another server."""
    asked = ask(input=[user("Hi"), {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}])
    assert asked.body["messages"] == [USER_HI]
    assert asked.warnings == [f"input[1] was left out: {UNREADABLE}"]


def test_empty_reasoning_says_nothing() -> None:
    """There is nothing to warn of."""
    assert messages(user("Hi"), {"type": "reasoning", "summary": []}) == [USER_HI]


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "image/png"), ("R0lGODlhAQABAAAAACw=", "image/gif"), ("/9j/4AAQ", "image/jpeg"), ("AAAA", "image/png")],
)
def test_an_image_the_assistant_made_is_shown_to_it_again(data: str, kind: str) -> None:
    """By the user: chat servers take none from an assistant. What it is, its bytes say."""
    item = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": data}
    assert messages(user("Draw a cat."), assistant("Here:"), item, user("Bigger.")) == [
        {"role": "user", "content": "Draw a cat."},
        {"role": "assistant", "content": "Here:"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "The image that you made:"},
                {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}},
            ],
        },
        {"role": "user", "content": "Bigger."},
    ]


def test_an_image_that_is_none_is_refused_and_one_that_is_not_there_left_out() -> None:
    assert refusal({"type": "image_generation_call", "result": "JVBERi0xLjc="}) == ("invalid_value", "input[0].result")
    asked = ask(input=[user("Hi"), {"type": "image_generation_call", "id": "ig_1", "result": None}])
    assert asked.warnings == ["input[1] was left out: it contains no image."]
