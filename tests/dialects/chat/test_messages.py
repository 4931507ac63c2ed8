"""Input items -> chat messages."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions, ServerOptions
from tests.support.chat_requests import (
    ask,
    assistant,
    call,
    messages,
    output,
    refusal,
    sent_call,
    sent_calls,
    sent_output,
    user,
)

PIXEL = "data:image/png;base64,iVBORw0KGgo="
USER_HI = {"role": "user", "content": "Hi"}


def text(words: str) -> dict[str, str]:
    """A text part, as it is posted by most."""
    return {"type": "input_text", "text": words}


def sent_text(words: str) -> dict[str, str]:
    """A text part, as chat servers know it."""
    return {"type": "text", "text": words}


def image(url: str, **more: object) -> dict[str, Any]:
    """An image part, as it is posted."""
    return {"type": "input_image", "image_url": url, **more}


def sent_image(**image_url: str) -> dict[str, Any]:
    """An image part, as chat servers know it."""
    return {"type": "image_url", "image_url": image_url}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["Hi"], "Hi"),
        ([text("Hi")], "Hi"),
        ([text("Hi"), text("there")], "Hi\nthere"),
        ([{"type": "text", "text": "Hi"}, {"type": "refusal", "refusal": "No."}], "Hi\nNo."),
        ([image(PIXEL)], [sent_image(url=PIXEL)]),
        (
            [text("Look"), image("https://example.com/a.png", detail="low"), text("")],
            [sent_text("Look"), sent_image(url="https://example.com/a.png", detail="low")],
        ),
        ([image(PIXEL, detail="auto")], [sent_image(url=PIXEL)]),
        ([image(PIXEL, detail="original")], [sent_image(url=PIXEL, detail="high")]),
        ([image("DATA:image/png;BASE64,iVBORw0KGgo=")], [sent_image(url="DATA:image/png;BASE64,iVBORw0KGgo=")]),
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
def test_a_user_says_text_images_files_and_sound(content: list[Any], expected: object) -> None:
    """Text alone is a string: some servers read nothing else."""
    assert messages(user(*content)) == [{"role": "user", "content": expected}]


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
        ({"type": "input_of_tomorrow", "url": "https://example.com/a"}, "invalid_value", ".type"),
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
        {"role": "user", "content": [sent_image(url="http://10.0.0.1/a")]}
    ]


def test_an_assistants_parts_are_one_text() -> None:
    """A refusal is part of what it said."""
    item = assistant("Hm.")
    item["content"].append({"type": "refusal", "refusal": "No."})
    assert messages(item, user("Hi")) == [{"role": "assistant", "content": "Hm.\nNo."}, USER_HI]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            "keep",
            [
                {"role": "system", "content": "One."},
                {"role": "system", "content": "Two."},
                USER_HI,
                {"role": "system", "content": "Three."},
            ],
        ),
        ("merge_head", [{"role": "system", "content": "One.\n\nTwo.\n\nThree."}, USER_HI]),
        (
            "as_user",
            [
                {"role": "user", "content": "One."},
                {"role": "user", "content": "Two."},
                USER_HI,
                {"role": "user", "content": "Three."},
            ],
        ),
    ],
)
def test_system_messages_follow_the_models_policy(policy: Any, expected: object) -> None:
    """The instructions come first; developers speak as the system, whose role every server knows."""
    items = [
        {"role": "developer", "content": "Two."},
        user("Hi"),
        {"role": "system", "content": [text("Three.")]},
    ]
    asked = ask(ChatOptions(model=ModelOptions(system_messages=policy)), instructions="One.", input=items)
    assert (asked.body["messages"], asked.warnings) == (expected, [])


def test_merging_system_messages_keeps_a_turn_together() -> None:
    """One that stood between a call and its output is no longer in the way."""
    items = [call("c"), {"role": "developer", "content": "Psst."}, output("c")]
    assert messages(*items, options=ChatOptions(model=ModelOptions(system_messages="merge_head"))) == [
        {"role": "system", "content": "Psst."},
        sent_calls(sent_call("c")),
        sent_output("c"),
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
    assert (asked.body["messages"], asked.warnings) == ([USER_HI], ["input[0] was left out: it is empty."])


@pytest.mark.parametrize(
    ("blank", "expected"),
    [("", ""), (" \n", " \n"), ([user("")], ""), ([user(text(""))], ""), ([user(""), user(text(" "))], " ")],
    ids=repr,
)
def test_an_empty_prompt_is_the_servers_to_answer(blank: object, expected: str) -> None:
    """Some do. It is only left out beside something else."""
    asked = ask(input=blank)
    assert (asked.body["messages"], asked.warnings) == ([{"role": "user", "content": expected}], [])
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
