"""Histories as they arrive, and as strict chat servers demand them."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from tests.support.chat_requests import (
    ask,
    assistant,
    call,
    messages,
    output,
    sent_call,
    sent_calls,
    sent_output,
    thought,
    user,
)

USER_HI = {"role": "user", "content": "Hi"}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
SENT_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param(
            [user("Hi"), assistant("a"), call("A"), assistant("b"), call("B"), output("A", "1"), output("B", "2")],
            [
                USER_HI,
                sent_calls(sent_call("A"), sent_call("B"), content="a\n\nb"),
                sent_output("A", "1"),
                sent_output("B", "2"),
            ],
            id="as Codex sends them",
        ),
        pytest.param(
            [call("A"), call("B"), output("B", "2"), output("A", "1"), user("Hi")],
            [
                sent_calls(sent_call("A"), sent_call("B")),
                sent_output("A", "1"),
                sent_output("B", "2"),
                USER_HI,
            ],
            id="outputs in another order",
        ),
        pytest.param(
            [thought("hm"), call("A"), output("A"), thought("oh"), call("B"), output("B"), assistant("Done.")],
            [
                sent_calls(sent_call("A"), reasoning_content="hm"),
                sent_output("A"),
                sent_calls(sent_call("B"), reasoning_content="oh"),
                sent_output("B"),
                {"role": "assistant", "content": "Done."},
            ],
            id="one step after another, each with its thought",
        ),
        pytest.param(
            [assistant("a"), assistant("b"), user("Hi")],
            [{"role": "assistant", "content": "a\n\nb"}, USER_HI],
            id="several assistant messages in a row",
        ),
        pytest.param(
            [call("A"), output("A", "")],
            [sent_calls(sent_call("A")), sent_output("A", "(no output)")],
            id="an output that is empty",
        ),
        pytest.param(
            [call("A"), output("A", [{"type": "input_text", "text": "1"}, {"type": "input_text", "text": "2"}])],
            [sent_calls(sent_call("A")), sent_output("A", "1\n2")],
            id="an output of several parts",
        ),
        pytest.param(
            [call("A", "look"), call("B"), output("A", [PICTURE]), output("B", "2"), user("Hi")],
            [
                sent_calls(sent_call("A", "look"), sent_call("B")),
                sent_output("A", "(see the next message)"),
                sent_output("B", "2"),
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "From the output of the call 'A':"}, SENT_PICTURE],
                },
                USER_HI,
            ],
            id="a picture in an output",
        ),
        pytest.param(
            [call("A", arguments=""), output("A")],
            [sent_calls(sent_call("A")), sent_output("A")],
            id="no arguments",
        ),
        pytest.param(
            [call("A", arguments='{"a" : 1.0,"b":"\\u00e9"}'), output("A")],
            [sent_calls(sent_call("A", arguments='{"a" : 1.0,"b":"\\u00e9"}')), sent_output("A")],
            id="arguments byte for byte",
        ),
        pytest.param(
            [call(""), call(""), output("", "1"), output("", "2")],
            [
                sent_calls(sent_call("call"), sent_call("call_2")),
                sent_output("call", "1"),
                sent_output("call_2", "2"),
            ],
            id="empty call ids",
        ),
        pytest.param(
            [call("toolu_" + "x" * 200), output("toolu_" + "x" * 200)],
            [sent_calls(sent_call("toolu_" + "x" * 200)), sent_output("toolu_" + "x" * 200)],
            id="call ids of any origin",
        ),
    ],
)
def test_what_only_stands_in_another_order_is_set_right_without_a_warning(items: list[Any], expected: object) -> None:
    """Nothing is lost, nothing is made up."""
    assert messages(*items) == expected


@pytest.mark.parametrize(
    ("items", "expected", "warnings"),
    [
        pytest.param(
            [call("A"), user("Hi"), output("A")],
            [sent_calls(sent_call("A")), sent_output("A"), USER_HI],
            ["input[2] was moved: an output must directly follow its call."],
            id="somebody spoke between call and output",
        ),
        pytest.param(
            [call("A"), call("B"), output("A", "1"), assistant("Hm."), output("B", "2")],
            [
                sent_calls(sent_call("A"), sent_call("B")),
                sent_output("A", "1"),
                sent_output("B", "2"),
                {"role": "assistant", "content": "Hm."},
            ],
            ["input[4] was moved: an output must directly follow its call."],
            id="the assistant spoke between outputs",
        ),
        pytest.param(
            [output("A"), user("Hi"), call("A")],
            [USER_HI, sent_calls(sent_call("A")), sent_output("A")],
            ["input[0] was moved: it came before its call."],
            id="an output before its call",
        ),
        pytest.param(
            [user("Hi"), output("A", "4")],
            [
                USER_HI,
                {"role": "user", "content": "Output of the tool call 'A', which is not in the history:\n4"},
            ],
            ["input[1] is sent as a message: its call is not in the history."],
            id="an output without its call",
        ),
        pytest.param(
            [user("Hi"), output("A", [PICTURE])],
            [
                USER_HI,
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "Output of the tool call 'A', which is not in the history:\n(see the next message)",
                        },
                        SENT_PICTURE,
                    ],
                },
            ],
            ["input[1] is sent as a message: its call is not in the history."],
            id="a picture without its call",
        ),
        pytest.param(
            [user("Hi"), call("A")],
            [USER_HI, sent_calls(sent_call("A")), sent_output("A", "no output recorded")],
            ["input[1] has no output in the history: the model reads that none was recorded."],
            id="a call without its output",
        ),
        pytest.param(
            [call("A"), output("A", "1"), output("A", "2"), output("A", "2")],
            [sent_calls(sent_call("A")), sent_output("A", "1\n2")],
            [
                "input[2] was merged with an earlier output of the same call.",
                "input[3] was merged with an earlier output of the same call.",
            ],
            id="several outputs for one call",
        ),
        pytest.param(
            [call("A"), call("A"), output("A")],
            [sent_calls(sent_call("A")), sent_output("A")],
            ["input[1] was left out: it repeats a call word for word."],
            id="a call told twice",
        ),
        pytest.param(
            [call("A"), output("A", "1"), call("A", "g"), output("A", "2"), call("A_2"), output("A_2", "3")],
            [
                sent_calls(sent_call("A")),
                sent_output("A", "1"),
                sent_calls(sent_call("A_2", "g")),
                sent_output("A_2", "2"),
                sent_calls(sent_call("A_2_2")),
                sent_output("A_2_2", "3"),
            ],
            [
                "input[2] was given an id of its own: its call_id was used before.",
                "input[4] was given an id of its own: its call_id was used before.",
            ],
            id="a call id used again",
        ),
        pytest.param(
            [call("A"), user("Hi"), call("A", "g"), output("A", "2")],
            [
                sent_calls(sent_call("A")),
                sent_output("A", "no output recorded"),
                USER_HI,
                sent_calls(sent_call("A_2", "g")),
                sent_output("A_2", "2"),
            ],
            [
                "input[2] was given an id of its own: its call_id was used before.",
                "input[0] has no output in the history: the model reads that none was recorded.",
            ],
            id="an output belongs to the latest call of its id",
        ),
        pytest.param(
            [thought("hm"), user("Hi")],
            [USER_HI],
            ["input[0] was left out: no message and no call follows this reasoning."],
            id="a thought that led nowhere",
        ),
        pytest.param(
            [call("A", arguments='{"a": 1'), output("A")],
            [sent_calls(sent_call("A", arguments='{"arguments":"{\\"a\\": 1"}')), sent_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments that were cut",
        ),
        pytest.param(
            [call("A", arguments=" null\n"), output("A")],
            [sent_calls(sent_call("A", arguments="{}")), sent_output("A")],
            [],
            id="null for no arguments",
        ),
        pytest.param(
            [call("A", arguments="[1]"), output("A")],
            [sent_calls(sent_call("A", arguments='{"arguments":"[1]"}')), sent_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments that are no object",
        ),
        pytest.param(
            [call("A", arguments="[" * 9_999), output("A")],
            [sent_calls(sent_call("A", arguments='{"arguments":"' + "[" * 9_999 + '"}')), sent_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments nested beyond reading",
        ),
        pytest.param(
            [call("A", "my.tool"), output("A")],
            [sent_calls(sent_call("A", "my_tool_5c30c025")), sent_output("A")],
            [],
            id="a name that chat servers refuse",
        ),
    ],
)
def test_what_is_broken_is_mended_with_a_warning(items: list[Any], expected: object, warnings: list[str]) -> None:
    """A strict chat server accepts the result, and the caller knows what was done."""
    asked = ask(input=items)
    assert (asked.body["messages"], asked.warnings) == (expected, warnings)


def test_reasoning_is_kept_back_where_an_upstream_does_not_want_it() -> None:
    """A setting of the model."""
    options = ChatOptions(model=ModelOptions(give_back_reasoning=False))
    assert messages(thought("hm"), assistant("Yes."), options=options) == [{"role": "assistant", "content": "Yes."}]
