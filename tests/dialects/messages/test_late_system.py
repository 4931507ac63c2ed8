"""Instructions in the middle of a conversation: of the role `system` where Claude takes them, else text of the user."""

from typing import Any, Final

import pytest

from tests.support.chat_requests import assistant, call, output, user
from tests.support.messages_blocks import by_model, by_user, gave, used, words
from tests.support.messages_requests import asked
from tests.wire.servers.anthropic_rules import body_faults

Json = dict[str, Any]

LATE: Final = {"role": "developer", "content": "Be brief."}
AGAIN: Final = {"role": "system", "content": "Be kind."}
TOOL: Final = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
AS_TEXT: Final = words("<system>\nBe brief.\n</system>")


def by_system(*texts: str) -> Json:
    """A message in the role of the system."""
    return {"role": "system", "content": [words(text) for text in texts]}


PLACES: Final[dict[str, tuple[list[Json], list[Json]]]] = {
    "after the user": ([user("Hi"), LATE], [by_user(words("Hi")), by_system("Be brief.")]),
    "before the user": (
        [user("Hi"), assistant("Yes?"), LATE, user("Go")],
        [by_user(words("Hi")), by_model(words("Yes?")), by_user(words("Go")), by_system("Be brief.")],
    ),
    "around the user": (
        [user("Hi"), assistant("Yes?"), LATE, user("Go"), AGAIN, assistant("Done."), user("Thanks")],
        [
            by_user(words("Hi")),
            by_model(words("Yes?")),
            by_user(words("Go")),
            by_system("Be brief.", "Be kind."),
            by_model(words("Done.")),
            by_user(words("Thanks")),
        ],
    ),
    "after the output of a call": (
        [user("Hi"), call("a"), output("a"), LATE],
        [by_user(words("Hi")), by_model(used("a")), by_user(gave("a", words("done"))), by_system("Be brief.")],
    ),
    "before the output of a call": (
        [user("Hi"), call("a"), LATE, output("a")],
        [by_user(words("Hi")), by_model(used("a")), by_user(gave("a", words("done"))), by_system("Be brief.")],
    ),
    "between answers": (
        [user("Hi"), assistant("Yes?"), LATE, assistant("Well."), user("Go")],
        [
            by_user(words("Hi")),
            by_model(words("Yes?")),
            by_user(AS_TEXT),
            by_model(words("Well.")),
            by_user(words("Go")),
        ],
    ),
    "after an answer": (
        [user("Hi"), assistant("Yes?"), LATE],
        [by_user(words("Hi")), by_model(words("Yes?")), by_user(AS_TEXT)],
    ),
}


@pytest.mark.parametrize(("items", "messages"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-5-5"])
def test_they_are_of_the_system_where_the_server_takes_them(
    model: str, items: list[Json], messages: list[Json]
) -> None:
    body = asked({"input": items, "tools": [TOOL], "reasoning": {"effort": "low"}}, model).body
    assert body["messages"] == messages
    assert body_faults(body) == []


@pytest.mark.parametrize(("items", "messages"), PLACES.values(), ids=PLACES)
def test_a_later_turn_begins_with_the_same_messages(items: list[Json], messages: list[Json]) -> None:
    """Otherwise nothing of it would be in the prompt cache."""
    later = asked({"input": [*items, assistant("So."), user("And?")], "tools": [TOOL]}, "claude-opus-5").body[
        "messages"
    ]
    assert later == [*messages, by_model(words("So.")), by_user(words("And?"))]


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        ("claude-opus-4-7", {}),
        ("claude-sonnet-4-5", {}),
        ("kimi-k2", {}),
        ("claude-opus-5", {"has_all_features": False}),
    ],
)
def test_they_are_text_of_the_user_elsewhere(model: str, rules: Json) -> None:
    """Also for a Claude behind another server: not every cloud takes the role."""
    body = asked({"input": [user("Hi"), assistant("Yes?"), LATE, user("Go")]}, model, **rules).body
    assert body["messages"][2] == by_user(AS_TEXT, words("Go"))


def test_a_tool_loop_goes_on_after_one() -> None:
    """It is no word of the user, which would end the loop."""
    body = asked({"input": [user("Hi"), call("a"), output("a"), LATE], "tools": [TOOL]}, "claude-opus-5").body
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user", "system"]
