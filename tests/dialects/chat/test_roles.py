"""Conversations for chat templates that want user and assistant to take turns."""

from typing import Any

import httpx
import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.roles import must_alternate
from app.options import ModelOptions
from app.providers.capabilities import Capabilities
from app.settings import Model, Settings, Upstream
from tests.support.chat_requests import ask, assistant, call, output, sent_call, sent_calls, sent_output, user
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import Ask, ChatUpstream

Json = dict[str, Any]

TURNS = ChatOptions(model=ModelOptions(alternating_roles=True))
RULES: Json = {"type": "message", "role": "developer", "content": "Rules."}
SYSTEM, HI, HELLO, BYE = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Bye"},
)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SHOWN = {"type": "input_image", "image_url": IMAGE["image_url"]["url"]}  # type: ignore[index]
AS_USER = (
    "System messages after the beginning are sent as user messages (1): "
    "this model takes system messages at the beginning only."
)


class TakesTurns(ChatUpstream):
    """One with Gemma's template: a system message at the head, then user and assistant by turns."""

    def faults(self, ask: Ask) -> list[str]:
        """Refuse as the template does."""
        roles = [message["role"] for message in ask.body["messages"]]
        turns = roles[1:] if roles[0] == "system" else roles
        expected = ["user", "assistant"] * len(turns)
        wrong = turns != expected[: len(turns)]
        return super().faults(ask) + ["Conversation roles must alternate user/assistant/user/assistant/..."] * wrong


CODEX = [
    RULES,
    user("<environment_context>here</environment_context>"),
    user("Hi"),
    assistant("Hello"),
    {"type": "message", "role": "system", "content": "It is late."},
    user("Bye"),
]


@pytest.mark.parametrize(
    "model",
    [
        {"name": "some-model", "alternating_roles": True},
        {"name": "some-model", "alternating_roles": True, "system_messages": "as_user"},
        {"name": "some-model", "alternating_roles": True, "system_messages": "merge_head"},
        {"name": "google/gemma-3-4b-it"},
        {"name": "MedGemma:27b"},
    ],
)
def test_what_codex_says_is_taken_by_a_server_that_wants_turns(model: Json) -> None:
    with TakesTurns(text_turn("Ciao")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"u": there}, models={"m": Model(upstream="u", **model)})) as url:
            body = {"model": "m", "instructions": "Be brief.", "input": CODEX}
            answer = httpx.post(f"{url}/v1/responses", json=body)
    assert (answer.status_code, answer.json()["status"]) == (200, "completed")


@pytest.mark.parametrize(
    ("items", "expected_message", "warnings"),
    [
        ([user("Hi")], [SYSTEM, HI], []),
        ([user("Hi"), assistant("Hello"), user("Bye")], [SYSTEM, HI, HELLO, BYE], []),
        ([user("Hi"), user("Bye")], [SYSTEM, {"role": "user", "content": "Hi\n\nBye"}], []),
        ([RULES, user("Hi")], [{"role": "system", "content": "Be brief.\n\nRules."}, HI], []),
        (
            [user("Hi"), RULES, user("Bye")],
            [SYSTEM, {"role": "user", "content": "Hi\n\nRules.\n\nBye"}],
            [AS_USER],
        ),
        (
            [user("Hi"), user(SHOWN), user("Bye"), assistant("Hello")],
            [
                SYSTEM,
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, IMAGE, {"type": "text", "text": "Bye"}]},
                HELLO,
            ],
            [],
        ),
        (
            [user("Hi"), call("c"), output("c"), user("Bye"), user("Hi")],
            [SYSTEM, HI, sent_calls(sent_call("c")), sent_output("c"), {"role": "user", "content": "Bye\n\nHi"}],
            [],
        ),
    ],
)
def test_consecutive_messages_of_one_side_become_one(
    items: list[Json], expected_message: list[Json], warnings: list[str]
) -> None:
    asked = ask(TURNS, instructions="Be brief.", input=items)
    assert (asked.body["messages"], asked.warnings) == (expected_message, warnings)


def test_without_the_setting_everything_is_told_as_it_was_sent() -> None:
    asked = ask(instructions="Be brief.", input=[user("Hi"), RULES, user("Bye")])
    assert asked.body["messages"] == [SYSTEM, HI, {"role": "system", "content": "Rules."}, BYE]


@pytest.mark.parametrize(
    ("model", "setting", "alternates"),
    [("qwen3", None, False), ("Gemma-3", None, True), ("gemma-3", False, False), ("qwen3", True, True)],
)
def test_the_setting_comes_before_the_name(model: str, setting: bool | None, alternates: bool) -> None:  # noqa: FBT001 — a table
    assert must_alternate(model, setting) == alternates


def test_a_format_told_in_words_to_a_model_without_system_messages_joins_the_first_one() -> None:
    options = ChatOptions(
        model=ModelOptions(alternating_roles=True, system_messages="as_user"), can=Capabilities(structured_output=())
    )
    asked = ask(options, instructions="Be brief.", input="Hi", text={"format": {"type": "json_object"}})
    [message] = asked.body["messages"]
    assert message["role"] == "user"
    assert message["content"].endswith("\n\nBe brief.\n\nHi")
