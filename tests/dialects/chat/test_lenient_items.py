"""Items that only OpenAI's servers or Codex know: none of them ends a conversation."""

from typing import Any, Final

import pytest

from app.bridges.ciphertext import STAND_IN
from app.dialects.chat.chat_options import ChatOptions
from app.parsing.items import NO_PICTURE
from app.prompt.content_parts import ENCRYPTED, NO_VIDEO
from app.providers.capabilities import Capabilities
from tests.support.chat_requests import ask, call, output, refusal, user

Json = dict[str, Any]

USER_HI: Final = {"role": "user", "content": "Hi"}
SEALED: Final = "gAAAAABpZm9yZWlnbnNlcnZlcnNvbmx5Zm9yZWlnbg=="
PNG: Final = "data:image/png;base64,iVBORw0KGgo="
SPAWN: Final = {
    "type": "function",
    "name": "spawn",
    "parameters": {"type": "object", "properties": {"message": {"type": "string", "encrypted": True}}},
}


def told(*items: Json, options: ChatOptions | None = None, **fields: Any) -> tuple[list[Json], list[str]]:
    """What the model reads after the user's word, and the warnings."""
    asked = ask(options or ChatOptions(), input=[user("Hi"), *items], **fields)
    assert asked.body["messages"][0] == USER_HI
    return asked.body["messages"][1:], asked.warnings


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"name": "f", "output": "Done."}, "Output of the tool 'f', for an earlier call:\nDone."),
        ({"name": "f", "namespace": "n", "output": "Done."}, "Output of the tool 'n__f', for an earlier call:\nDone."),
        ({"call_id": None, "output": ""}, "Output of a tool, for an earlier call:\n(no output)"),
    ],
)
def test_an_output_that_names_no_call_is_told_by_its_tool(item: Json, text: str) -> None:
    """Of a call that nobody waited for."""
    messages, warnings = told(call("a"), output("a"), {"type": "function_call_output", **item})
    assert messages[-1] == {"role": "user", "content": text}
    assert warnings == ["input[3] is sent as a message: it names no call."]


def test_a_picture_in_such_an_output_is_shown() -> None:
    item = {"type": "function_call_output", "name": "f", "output": [{"type": "input_image", "image_url": PNG}]}
    [message], _ = told(item)
    assert message["content"][1] == {"type": "image_url", "image_url": {"url": PNG}}


def test_what_several_agents_did_is_told_as_text() -> None:
    arguments = f'{{"name":"a","message":"{SEALED}"}}'
    messages, warnings = told(
        {"type": "multi_agent_call", "call_id": "c", "action": "spawn_agent", "arguments": '{"name":"a"}'},
        {
            "type": "multi_agent_call_output",
            "call_id": "c",
            "action": "spawn_agent",
            "output": [{"type": "output_text", "text": "Started."}],
        },
    )
    assert [message["role"] for message in messages] == ["assistant", "user"]
    assert "spawn_agent" in messages[0]["content"]
    assert "Started." in messages[1]["content"]
    assert len(warnings) == 2
    [message], _ = told({"type": "multi_agent_call", "call_id": "c", "action": "spawn_agent", "arguments": arguments})
    assert "gAAAA" not in message["content"]


@pytest.mark.parametrize(
    ("shown", "can", "content", "more"),
    [
        (
            {"image_url": PNG},
            None,
            [{"type": "text", "text": "[computer_call_output]"}, {"type": "image_url", "image_url": {"url": PNG}}],
            0,
        ),
        (
            {"image_url": PNG, "detail": "high"},
            True,
            [
                {"type": "text", "text": "[computer_call_output]"},
                {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}},
            ],
            0,
        ),
        (
            {"image_url": PNG},
            False,
            "[computer_call_output]\n[An image was left out here: this model cannot see images.]",
            1,
        ),
        ({"file_id": "file-1"}, None, f"[computer_call_output]\n{NO_PICTURE}", 0),
    ],
)
def test_what_a_computer_showed_is_shown_to_a_model_that_sees(
    shown: Json,
    can: bool | None,  # noqa: FBT001 — one of three
    content: Any,
    more: int,
) -> None:
    item = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", **shown}}
    [message], warnings = told(item, options=ChatOptions(can=Capabilities(vision=can)))
    assert message == {"role": "user", "content": content}
    assert warnings[-1] == "input[1] is sent as text: this model does not know 'computer_call_output'."
    assert len(warnings) == more + 1


def test_a_picture_of_a_computer_is_checked_as_any_other() -> None:
    item = {"type": "computer_call_output", "output": {"image_url": "http://127.0.0.1/x.png"}}
    assert refusal(user("Hi"), item)[0] == "invalid_value"


def test_a_video_is_left_out_in_words() -> None:
    part = {"type": "input_video", "video_url": "https://a.example/v.mp4"}
    messages, warnings = told(call("a"), output("a", [part]), user(part))
    assert [message["content"] for message in messages[1:]] == [NO_VIDEO, NO_VIDEO]
    assert warnings == [
        "input[2].output[0] was left out: this server sends no videos.",
        "input[3].content[0] was left out: this server sends no videos.",
    ]


@pytest.mark.parametrize(
    ("item", "warning"),
    [
        ({"type": "ghost_snapshot", "ghost_commit": {"id": "a"}}, "'ghost_snapshot' cannot be sent to this model."),
        (
            {"type": "context_compaction", "encrypted_content": SEALED},
            "only the server that summarized this conversation can read it.",
        ),
        ({"type": "context_compaction"}, "only the server that summarized this conversation can read it."),
    ],
)
def test_notes_of_codex_are_left_out(item: Json, warning: str) -> None:
    assert told(item) == ([], [f"input[1] was left out: {warning}"])


def test_a_message_that_another_server_encrypted_is_left_out() -> None:
    parts = [{"type": "input_text", "text": "For you:"}, {"type": "encrypted_content", "encrypted_content": SEALED}]
    messages, warnings = told({"type": "agent_message", "author": "/root", "content": parts})
    assert messages == [{"role": "user", "content": "Message from the agent '/root':\nFor you:"}]
    assert warnings == [f"input[1].content[1] was left out: {ENCRYPTED}"]
    messages, warnings = told({"type": "agent_message", "content": parts[1:]})
    assert messages == []
    assert warnings[-1] == "input[1] was left out: it is empty."


@pytest.mark.parametrize(
    ("tools", "arguments", "sent", "warned"),
    [
        ([SPAWN], f'{{"message":"{SEALED}"}}', f'{{"message":"{STAND_IN}"}}', True),
        ([SPAWN], '{"message":"plain"}', '{"message":"plain"}', False),
        ([SPAWN], f'{{"message":"a {SEALED}"}}', f'{{"message":"a {SEALED}"}}', False),
        ([{**SPAWN, "parameters": {}}], f'{{"message":"{SEALED}"}}', f'{{"message":"{SEALED}"}}', False),
        ([], f'{{"message":"{SEALED}"}}', f'{{"message":"{STAND_IN}"}}', True),  # as when a summary is asked for
    ],
)
def test_arguments_that_another_server_encrypted_are_left_out(
    tools: list[Json],
    arguments: str,
    sent: str,
    warned: bool,  # noqa: FBT001 — one of the two
) -> None:
    """Of tools that say so. What looks like it elsewhere may be the client's own."""
    messages, warnings = told(call("a", "spawn", arguments), output("a"), tools=tools)
    assert messages[0]["tool_calls"][0]["function"]["arguments"] == sent
    assert warnings == (
        ["input[1].arguments hold text that only another server can read. It was left out."] if warned else []
    )
