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
    thought,
    told_call,
    told_calls,
    told_output,
    user,
)

HEARD = {"role": "user", "content": "Hi"}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
TOLD_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("items", "told"),
    [
        pytest.param(
            [user("Hi"), assistant("a"), call("A"), assistant("b"), call("B"), output("A", "1"), output("B", "2")],
            [
                HEARD,
                told_calls(told_call("A"), told_call("B"), content="a\n\nb"),
                told_output("A", "1"),
                told_output("B", "2"),
            ],
            id="as Codex sends them",
        ),
        pytest.param(
            [call("A"), call("B"), output("B", "2"), output("A", "1"), user("Hi")],
            [
                told_calls(told_call("A"), told_call("B")),
                told_output("A", "1"),
                told_output("B", "2"),
                HEARD,
            ],
            id="outputs in another order",
        ),
        pytest.param(
            [thought("hm"), call("A"), output("A"), thought("oh"), call("B"), output("B"), assistant("Done.")],
            [
                told_calls(told_call("A"), reasoning_content="hm"),
                told_output("A"),
                told_calls(told_call("B"), reasoning_content="oh"),
                told_output("B"),
                {"role": "assistant", "content": "Done."},
            ],
            id="one step after another, each with its thought",
        ),
        pytest.param(
            [assistant("a"), assistant("b"), user("Hi")],
            [{"role": "assistant", "content": "a\n\nb"}, HEARD],
            id="several assistant messages in a row",
        ),
        pytest.param(
            [call("A"), output("A", "")],
            [told_calls(told_call("A")), told_output("A", "(no output)")],
            id="an output that is empty",
        ),
        pytest.param(
            [call("A"), output("A", [{"type": "input_text", "text": "1"}, {"type": "input_text", "text": "2"}])],
            [told_calls(told_call("A")), told_output("A", "1\n2")],
            id="an output of several parts",
        ),
        pytest.param(
            [call("A", "look"), call("B"), output("A", [PICTURE]), output("B", "2"), user("Hi")],
            [
                told_calls(told_call("A", "look"), told_call("B")),
                told_output("A", "(see the next message)"),
                told_output("B", "2"),
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "From the output of the call 'A':"}, TOLD_PICTURE],
                },
                HEARD,
            ],
            id="a picture in an output",
        ),
        pytest.param(
            [call("A", arguments=""), output("A")],
            [told_calls(told_call("A")), told_output("A")],
            id="no arguments",
        ),
        pytest.param(
            [call("A", arguments='{"a" : 1.0,"b":"\\u00e9"}'), output("A")],
            [told_calls(told_call("A", arguments='{"a" : 1.0,"b":"\\u00e9"}')), told_output("A")],
            id="arguments byte for byte",
        ),
        pytest.param(
            [call(""), call(""), output("", "1"), output("", "2")],
            [
                told_calls(told_call("call"), told_call("call_2")),
                told_output("call", "1"),
                told_output("call_2", "2"),
            ],
            id="empty call ids",
        ),
        pytest.param(
            [call("toolu_" + "x" * 200), output("toolu_" + "x" * 200)],
            [told_calls(told_call("toolu_" + "x" * 200)), told_output("toolu_" + "x" * 200)],
            id="call ids of any origin",
        ),
    ],
)
def test_what_only_stands_in_another_order_is_set_right_without_a_warning(items: list[Any], told: object) -> None:
    """Nothing is lost, nothing is made up."""
    assert messages(*items) == told


@pytest.mark.parametrize(
    ("items", "told", "warnings"),
    [
        pytest.param(
            [call("A"), user("Hi"), output("A")],
            [told_calls(told_call("A")), told_output("A"), HEARD],
            ["input[2] was moved: an output must directly follow its call."],
            id="somebody spoke between call and output",
        ),
        pytest.param(
            [call("A"), call("B"), output("A", "1"), assistant("Hm."), output("B", "2")],
            [
                told_calls(told_call("A"), told_call("B")),
                told_output("A", "1"),
                told_output("B", "2"),
                {"role": "assistant", "content": "Hm."},
            ],
            ["input[4] was moved: an output must directly follow its call."],
            id="the assistant spoke between outputs",
        ),
        pytest.param(
            [output("A"), user("Hi"), call("A")],
            [HEARD, told_calls(told_call("A")), told_output("A")],
            ["input[0] was moved: it came before its call."],
            id="an output before its call",
        ),
        pytest.param(
            [user("Hi"), output("A", "4")],
            [
                HEARD,
                {"role": "user", "content": "Output of the tool call 'A', which is not in the history:\n4"},
            ],
            ["input[1] is sent as a message: its call is not in the history."],
            id="an output without its call",
        ),
        pytest.param(
            [user("Hi"), output("A", [PICTURE])],
            [
                HEARD,
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "Output of the tool call 'A', which is not in the history:\n(see the next message)",
                        },
                        TOLD_PICTURE,
                    ],
                },
            ],
            ["input[1] is sent as a message: its call is not in the history."],
            id="a picture without its call",
        ),
        pytest.param(
            [user("Hi"), call("A")],
            [HEARD, told_calls(told_call("A")), told_output("A", "no output recorded")],
            ["input[1] has no output in the history: the model reads that none was recorded."],
            id="a call without its output",
        ),
        pytest.param(
            [call("A"), output("A", "1"), output("A", "2"), output("A", "2")],
            [told_calls(told_call("A")), told_output("A", "1\n2")],
            [
                "input[2] was merged with an earlier output of the same call.",
                "input[3] was merged with an earlier output of the same call.",
            ],
            id="several outputs for one call",
        ),
        pytest.param(
            [call("A"), call("A"), output("A")],
            [told_calls(told_call("A")), told_output("A")],
            ["input[1] was left out: it repeats a call word for word."],
            id="a call told twice",
        ),
        pytest.param(
            [call("A"), output("A", "1"), call("A", "g"), output("A", "2"), call("A_2"), output("A_2", "3")],
            [
                told_calls(told_call("A")),
                told_output("A", "1"),
                told_calls(told_call("A_2", "g")),
                told_output("A_2", "2"),
                told_calls(told_call("A_2_2")),
                told_output("A_2_2", "3"),
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
                told_calls(told_call("A")),
                told_output("A", "no output recorded"),
                HEARD,
                told_calls(told_call("A_2", "g")),
                told_output("A_2", "2"),
            ],
            [
                "input[2] was given an id of its own: its call_id was used before.",
                "input[0] has no output in the history: the model reads that none was recorded.",
            ],
            id="an output belongs to the latest call of its id",
        ),
        pytest.param(
            [thought("hm"), user("Hi")],
            [HEARD],
            ["input[0] was left out: no message and no call follows this reasoning."],
            id="a thought that led nowhere",
        ),
        pytest.param(
            [call("A", arguments='{"a": 1'), output("A")],
            [told_calls(told_call("A", arguments='{"arguments":"{\\"a\\": 1"}')), told_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments that were cut",
        ),
        pytest.param(
            [call("A", arguments=" null\n"), output("A")],
            [told_calls(told_call("A", arguments="{}")), told_output("A")],
            [],
            id="null for no arguments",
        ),
        pytest.param(
            [call("A", arguments="[1]"), output("A")],
            [told_calls(told_call("A", arguments='{"arguments":"[1]"}')), told_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments that are no object",
        ),
        pytest.param(
            [call("A", arguments="[" * 9_999), output("A")],
            [told_calls(told_call("A", arguments='{"arguments":"' + "[" * 9_999 + '"}')), told_output("A")],
            ["input[0].arguments were wrapped: servers refuse what is not a JSON object."],
            id="arguments nested beyond reading",
        ),
        pytest.param(
            [call("A", "my.tool"), output("A")],
            [told_calls(told_call("A", "my_tool_5c30c025")), told_output("A")],
            [],
            id="a name that chat servers refuse",
        ),
    ],
)
def test_what_is_broken_is_mended_with_a_warning(items: list[Any], told: object, warnings: list[str]) -> None:
    """A strict chat server accepts the result, and the caller knows what was done."""
    asked = ask(input=items)
    assert (asked.body["messages"], asked.warnings) == (told, warnings)


def test_reasoning_is_kept_back_where_an_upstream_does_not_want_it() -> None:
    """A setting of the model."""
    options = ChatOptions(model=ModelOptions(give_back_reasoning=False))
    assert messages(thought("hm"), assistant("Yes."), options=options) == [{"role": "assistant", "content": "Yes."}]
