"""What agents send beside messages and functions, as a chat server is asked of it."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import CallIds, ModelOptions
from app.prompt.call_ids import id_for
from tests.support import chat_requests
from tests.support.chat_requests import (
    Asked,
    assistant,
    call,
    output,
    refuse_what_a_strict_server_refuses,
    sent_call,
    sent_calls,
    sent_output,
    user,
)

DEFAULT = ChatOptions()
USER_HI = {"role": "user", "content": "Hi"}


def ask(*items: Any, options: ChatOptions = DEFAULT, **fields: Any) -> Asked:
    """The ask for a turn of an agent with these items behind a user's word."""
    asked = chat_requests.ask(options, input=[user("Hi"), *items], **fields)
    refuse_what_a_strict_server_refuses(asked.body)
    return asked


def messages(*items: Any, options: ChatOptions = DEFAULT) -> list[dict[str, Any]]:
    """The messages behind the user's word, which must need no warning."""
    asked = ask(*items, options=options)
    assert asked.warnings == []
    assert asked.body["messages"][0] == USER_HI
    sent_messages: list[dict[str, Any]] = asked.body["messages"][1:]
    return sent_messages


def test_calls_of_every_kind_gather_in_one_message_with_their_outputs_behind_it() -> None:
    """As a strict chat server wants them; an old Codex answers its local shell as if it were a function."""
    sent_messages = messages(
        assistant("Let me see."),
        {"type": "custom_tool_call", "call_id": "a", "name": "exec", "input": "1+1", "namespace": "functions"},
        {"type": "local_shell_call", "id": "b", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"], "timeout_ms": 1000.0}},
        {"type": "function_call", "call_id": "d", "name": "f", "arguments": '{"a" :1}', "namespace": "X"},
        {"type": "function_call_output", "call_id": "b", "output": "a.txt"},
        {
            "type": "custom_tool_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "2"}, {"type": "output_text", "text": "!"}],
        },
        {"type": "shell_call_output", "call_id": "c", "output": "none"},
        {"type": "function_call_output", "call_id": "d", "output": "4"},
    )
    assert sent_messages == [
        sent_calls(
            sent_call("a", "exec", '{"input":"1+1"}'),
            sent_call("b", "local_shell", '{"command":["ls"]}'),
            sent_call("c", "shell", '{"commands":["ls"],"timeout_ms":1000}'),
            sent_call("d", "X__f", '{"a" :1}'),
            content="Let me see.",
        ),
        sent_output("a", "2\n!"),
        sent_output("b", "a.txt"),
        sent_output("c", "none"),
        sent_output("d", "4"),
    ]


def test_an_image_in_a_custom_tools_output_stands_behind_the_outputs() -> None:
    """Tool messages hold text only; `original` is a word of Codex."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "original"}
    sent_messages = messages(
        {"type": "custom_tool_call", "call_id": "a", "name": "exec", "input": "look()"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": [image]},
    )
    assert sent_messages[-1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "From the output of the call 'a':"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}},
        ],
    }


def test_a_hosted_search_for_tools_is_sent_back_without_a_call_id() -> None:
    """The API's own server gave it none."""
    sent_messages = messages(
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"query": "x"}},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
    )
    assert sent_messages == [
        sent_calls(sent_call("call", "tool_search", '{"query":"x"}')),
        sent_output("call", "No tool was found."),
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"author": "/root/a", "content": [{"type": "encrypted_content", "encrypted_content": "Done."}]},
            "Message from the agent '/root/a':\nDone.",
        ),
        ({"content": "Done."}, "Message from another agent:\nDone."),
    ],
)
def test_what_another_agent_says_is_told_as_a_message(item: dict[str, Any], expected: str) -> None:
    """Its sealed text is plain, for nobody sealed it here."""
    assert messages({"type": "agent_message", **item}) == [{"role": "user", "content": expected}]


def test_an_agents_message_without_words_is_left_out_with_a_warning() -> None:
    """Chat servers refuse empty messages."""
    assert ask({"type": "agent_message", "content": []}).warnings == ["input[1] was left out: it is empty."]


@pytest.mark.parametrize(
    ("updates", "reasoning", "effort"),
    [
        ([{"effort": "high"}], {"effort": "low"}, "high"),
        ([{"effort": "high"}, {"effort": "minimal"}], None, "minimal"),
        ([{"effort": "high"}, None, {}], {"effort": "low"}, "high"),
        ([None], {"effort": "low"}, "low"),
        ([], None, None),
    ],
)
def test_the_last_update_of_the_configuration_holds(updates: list[Any], reasoning: Any, effort: str | None) -> None:
    """It says how much to think from there on, and nothing to the model."""
    items = [{"type": "configuration_update", "reasoning": update} for update in updates]
    asked = ask(*items, reasoning=reasoning)
    assert (asked.body.get("reasoning_effort"), asked.warnings) == (effort, [])
    assert asked.body["messages"] == [USER_HI]


def test_the_phase_of_a_message_is_no_business_of_a_chat_server() -> None:
    """Codex marks comments and final answers; none of them is lost."""
    items = [assistant("Looking.") | {"phase": "commentary"}, assistant("Found.") | {"phase": "final_answer"}]
    assert messages(*items) == [{"role": "assistant", "content": "Looking.\n\nFound."}]


def test_a_turn_that_sums_up_a_history_of_calls_offers_no_tools() -> None:
    """Codex's compaction; a server that demands tools gets those of the history, not to be called."""
    history = [
        {"type": "custom_tool_call", "call_id": "a", "name": "exec", "input": "1"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}", "namespace": "X"},
        output("b"),
        user("Sum up."),
    ]
    assert "tools" not in ask(*history, tools=[]).body
    asked = ask(*history, tools=[], options=ChatOptions(declare_past_tools=True)).body
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["exec", "X__f"]
    assert asked["tool_choice"] == "none"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ({"type": "web_search"}, {}),
        (
            {
                "type": "web_search",
                "external_web_access": False,
                "search_context_size": "low",
                "user_location": {"type": "approximate", "city": "Oslo", "region": None},
            },
            {
                "search_context_size": "low",
                "user_location": {"type": "approximate", "approximate": {"city": "Oslo"}},
            },
        ),
    ],
)
def test_a_model_that_searches_the_web_itself_is_asked_to(tool: dict[str, Any], expected: dict[str, Any]) -> None:
    """In the words of chat completions, beside the functions."""
    asked = ask(tools=[tool], options=ChatOptions(model=ModelOptions(web_search=True)))
    assert asked.body["web_search_options"] == expected
    assert "tools" not in asked.body
    assert "web_search_options" not in ask(options=ChatOptions(model=ModelOptions(web_search=True))).body


IDS = ("call_1", "toolu_01", "hist_tool_7", "x", "é.1", "a" * 200, "abcDEF123", "", "x")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("keep", ["call_1", "toolu_01", "hist_tool_7", "x", "é.1", "a" * 200, "abcDEF123", "call", "x_2"]),
        (
            "plain64",
            [
                "call_1",
                "toolu_01",
                "hist_tool_7",
                "x",
                "__1_5066d3c2f",
                "a" * 54 + "_c2a908d98",
                "abcDEF123",
                "call",
                "x_2",
            ],
        ),
        (
            "plain40",
            [
                "call_1",
                "toolu_01",
                "hist_tool_7",
                "x",
                "__1_5066d3c2f",
                "a" * 30 + "_c2a908d98",
                "abcDEF123",
                "call",
                "x_2",
            ],
        ),
        (
            "alphanumeric9",
            [
                "74196fe72",
                "7a95b7039",
                "52c5109b8",
                "2d711642b",
                "5066d3c2f",
                "c2a908d98",
                "abcDEF123",
                "7edb360f0",
                "ace7c93ba",
            ],
        ),
    ],
)
def test_call_ids_are_mapped_as_the_upstream_wants_them(kind: CallIds, expected: list[str]) -> None:
    """Calls and outputs alike, the same in every turn."""
    items = [item for index, each in enumerate(IDS) for item in (call(each, f"f{index}"), output(each, f"<{index}>"))]
    asked = ask(*items, options=ChatOptions(call_ids=kind))
    calls = [entry["id"] for message in asked.body["messages"] for entry in message.get("tool_calls", [])]
    outputs = [message["tool_call_id"] for message in asked.body["messages"] if message["role"] == "tool"]
    assert calls == expected
    assert outputs == expected
    assert [message["content"] for message in asked.body["messages"] if message["role"] == "tool"] == [
        f"<{index}>" for index in range(len(IDS))
    ]


def test_ids_that_are_told_alike_are_told_apart_by_another_attempt() -> None:
    """Two ids of nine letters cannot meet: a taken one is tried again."""
    result = {id_for("x", "alphanumeric9", attempt) for attempt in range(1, 5)}
    assert len(result) == 4
