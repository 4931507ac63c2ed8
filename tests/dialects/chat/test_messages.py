"""Input items -> chat messages."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions, ServerOptions
from app.prompt.item_reader import CALLS_AS_TEXT, CONTEXT_LENGTH, OUTPUTS_AS_TEXT, SKIPPED, UNREADABLE
from tests.support.chat_requests import (
    ask,
    assistant,
    call,
    messages,
    output,
    refusal,
    told_call,
    told_calls,
    told_output,
    user,
)

PIXEL = "data:image/png;base64,iVBORw0KGgo="
HEARD = {"role": "user", "content": "Hi"}


def text(words: str) -> dict[str, str]:
    """A text part, as it is posted by most."""
    return {"type": "input_text", "text": words}


def told_text(words: str) -> dict[str, str]:
    """A text part, as chat servers know it."""
    return {"type": "text", "text": words}


def image(url: str, **more: object) -> dict[str, Any]:
    """An image part, as it is posted."""
    return {"type": "input_image", "image_url": url, **more}


def told_image(**image_url: str) -> dict[str, Any]:
    """An image part, as chat servers know it."""
    return {"type": "image_url", "image_url": image_url}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (["Hi"], "Hi"),
        ([text("Hi")], "Hi"),
        ([text("Hi"), text("there")], "Hi\nthere"),
        ([{"type": "text", "text": "Hi"}, {"type": "refusal", "refusal": "No."}], "Hi\nNo."),
        ([image(PIXEL)], [told_image(url=PIXEL)]),
        (
            [text("Look"), image("https://example.com/a.png", detail="low"), text("")],
            [told_text("Look"), told_image(url="https://example.com/a.png", detail="low")],
        ),
        ([image(PIXEL, detail="auto")], [told_image(url=PIXEL)]),
        ([image(PIXEL, detail="original")], [told_image(url=PIXEL, detail="high")]),
        ([image("DATA:image/png;BASE64,iVBORw0KGgo=")], [told_image(url="DATA:image/png;BASE64,iVBORw0KGgo=")]),
        (
            [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}],
            [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}],
        ),
        (
            [{"type": "input_file", "filename": "a.PDF", "file_data": "aGk="}],
            [{"type": "file", "file": {"filename": "a.PDF", "file_data": "data:application/pdf;base64,aGk="}}],
        ),
        (
            [{"type": "input_file", "file_data": "aGk="}],
            [{"type": "file", "file": {"filename": "file", "file_data": "data:application/octet-stream;base64,aGk="}}],
        ),
        (
            [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}],
            [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}],
        ),
    ],
)
def test_a_user_says_text_images_files_and_sound(content: list[Any], told: object) -> None:
    """Text alone is a string: some servers read nothing else."""
    assert messages(user(*content)) == [{"role": "user", "content": told}]


def test_a_file_url_is_told_as_a_link() -> None:
    """No chat server fetches files; the caller is warned."""
    asked = ask(input=[user({"type": "input_file", "file_url": "https://example.com/a.pdf", "filename": "a.pdf"})])
    assert asked.body["messages"] == [{"role": "user", "content": "[a.pdf: https://example.com/a.pdf]"}]
    warning = "is sent to the model as a link only: its server fetches no files. Send 'file_data'."
    assert asked.warnings == [f"'input[0].content[0].file_url' {warning}"]


@pytest.mark.parametrize(
    ("part", "code", "path"),
    [
        (image("http://127.0.0.1/a.png"), "invalid_value", ".image_url"),
        (image("data:image/png,raw"), "invalid_value", ".image_url"),
        (image("data:image/png;base64,"), "invalid_value", ".image_url"),
        (image("data:image/png;base64,<svg>"), "invalid_value", ".image_url"),
        (image("data:image/png;base64,iVBORw0KGgo=!"), "invalid_value", ".image_url"),
        (image("data:image/png;base64,PGh0bWw+"), "invalid_value", ".image_url"),  # <html>
        (image("data:image/png;base64,JVBERi0xLjc="), "invalid_value", ".image_url"),  # a PDF
        (image(""), "missing_required_parameter", ".image_url"),
        ({"type": "input_image"}, "missing_required_parameter", ".image_url"),
        ({"type": "input_image", "file_id": "file_1"}, "unsupported_parameter", ".file_id"),
        ({"type": "input_file", "file_id": "file_1"}, "unsupported_parameter", ".file_id"),
        ({"type": "input_file"}, "missing_required_parameter", ".file_data"),
        ({"type": "input_file", "file_url": "ftp://example.com/a"}, "invalid_value", ".file_url"),
        ({"type": "input_video", "video_url": "https://example.com/a"}, "invalid_value", ".type"),
    ],
)
def test_a_part_that_cannot_be_told_is_refused_by_its_path(part: object, code: str, path: str) -> None:
    """In a user's message and in an output alike."""
    assert refusal(user("Hi"), user(text("Hi"), part)) == (code, f"input[1].content[1]{path}")
    assert refusal(call("c"), output("c", [part])) == (code, f"input[1].output[0]{path}")


@pytest.mark.parametrize("role", ["assistant", "system", "developer"])
def test_only_users_say_more_than_text(role: str) -> None:
    """Chat servers know no pictures from anybody else."""
    item = {"role": role, "content": [text("Look"), image(PIXEL)]}
    assert refusal(item) == ("invalid_value", "input[0].content[1].type")


def test_private_addresses_can_be_allowed() -> None:
    """Where images lie beside the server."""
    options = ChatOptions(server=ServerOptions(allow_private_urls=True))
    assert messages(user(image("http://10.0.0.1/a")), options=options) == [
        {"role": "user", "content": [told_image(url="http://10.0.0.1/a")]}
    ]


def test_an_assistants_parts_are_one_text() -> None:
    """A refusal is part of what it said."""
    item = assistant("Hm.")
    item["content"].append({"type": "refusal", "refusal": "No."})
    assert messages(item, user("Hi")) == [{"role": "assistant", "content": "Hm.\nNo."}, HEARD]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            "keep",
            [
                {"role": "system", "content": "One."},
                {"role": "system", "content": "Two."},
                HEARD,
                {"role": "system", "content": "Three."},
            ],
        ),
        ("merge_head", [{"role": "system", "content": "One.\n\nTwo.\n\nThree."}, HEARD]),
        (
            "as_user",
            [
                {"role": "user", "content": "One."},
                {"role": "user", "content": "Two."},
                HEARD,
                {"role": "user", "content": "Three."},
            ],
        ),
    ],
)
def test_system_messages_follow_the_models_policy(policy: Any, told: object) -> None:
    """The instructions come first; developers speak as the system, whose role every server knows."""
    items = [
        {"role": "developer", "content": "Two."},
        user("Hi"),
        {"role": "system", "content": [text("Three.")]},
    ]
    asked = ask(ChatOptions(model=ModelOptions(system_messages=policy)), instructions="One.", input=items)
    assert (asked.body["messages"], asked.warnings) == (told, [])


def test_merging_system_messages_keeps_a_turn_together() -> None:
    """One that stood between a call and its output is no longer in the way."""
    items = [call("c"), {"role": "developer", "content": "Psst."}, output("c")]
    assert messages(*items, options=ChatOptions(model=ModelOptions(system_messages="merge_head"))) == [
        {"role": "system", "content": "Psst."},
        told_calls(told_call("c")),
        told_output("c"),
    ]


@pytest.mark.parametrize(
    "item",
    [
        user(""),
        user(" \n"),
        user(text("")),
        {"role": "user", "content": []},
        {"role": "system", "content": ""},
        {"role": "assistant", "content": [{"type": "output_text", "text": ""}]},
    ],
)
def test_empty_messages_are_left_out_with_a_warning(item: object) -> None:
    """Chat servers refuse them."""
    asked = ask(input=[item, user("Hi")])
    assert (asked.body["messages"], asked.warnings) == ([HEARD], ["input[0] was left out: it is empty."])


@pytest.mark.parametrize(
    ("blank", "told"),
    [("", ""), (" \n", " \n"), ([user("")], ""), ([user(text(""))], ""), ([user(""), user(text(" "))], " ")],
    ids=repr,
)
def test_an_empty_prompt_is_the_servers_to_answer(blank: object, told: str) -> None:
    """Some do. It is only left out beside something else."""
    asked = ask(input=blank)
    assert (asked.body["messages"], asked.warnings) == ([{"role": "user", "content": told}], [])
    assert ask(input=blank, instructions="Greet.").body["messages"] == [{"role": "system", "content": "Greet."}]


@pytest.mark.parametrize(
    "nothing", [[], [{"type": "mcp_list_tools", "tools": []}], [{"role": "assistant", "content": ""}]], ids=repr
)
def test_a_request_that_says_nothing_is_refused(nothing: object) -> None:
    """There is nothing to answer."""
    with pytest.raises(Exception, match="'input' has no content that can be sent to the model"):
        ask(input=nothing)


def test_instructions_alone_are_enough() -> None:
    """The upstream may know what to do with them."""
    asked = ask(instructions="Greet.", input=[])
    assert asked.body["messages"] == [{"role": "system", "content": "Greet."}]


@pytest.mark.parametrize(
    ("item", "told"),
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
def test_hosted_tools_of_the_past_are_told_as_text(item: dict[str, Any], told: str) -> None:
    """What the assistant did is not lost, and its pictures do not flood the model."""
    asked = ask(input=[user("Hi"), item, assistant("Cats.")])
    assert asked.body["messages"] == [HEARD, {"role": "assistant", "content": f"{told}\n\nCats."}]
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
        assert asked.body["messages"] == [HEARD]


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
    assert asked.body["messages"] == [HEARD]
    assert asked.warnings == [f"input[1] was left out: {UNREADABLE}"]


def test_empty_reasoning_says_nothing() -> None:
    """There is nothing to warn of."""
    assert messages(user("Hi"), {"type": "reasoning", "summary": []}) == [HEARD]


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
    assert asked.warnings == ["input[1] was left out: it holds no image."]
