"""Structured output: asked of servers that enforce it, told in words to models whose servers do not."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import Format, ModelOptions
from app.providers.capabilities import Capabilities
from tests.support.chat_requests import ask, assistant, user

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
BY_SCHEMA: dict[str, Any] = {
    "format": {"type": "json_schema", "name": "answer", "description": "An A.", "schema": SCHEMA, "strict": True}
}
ANY_OBJECT: dict[str, Any] = {"format": {"type": "json_object"}}
F = {"type": "function", "name": "f"}

NATIVE = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "schema": SCHEMA, "description": "An A.", "strict": True},
}
JSON = "Answer with one JSON object and nothing else: no words before or after it, no code fence."
INSTRUCTION = (
    f"{JSON}\nIt must be valid by this JSON schema, named 'answer' (An A.):\n"
    '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}'
)


def warned(kind: str, reason: str = "its server does not enforce it") -> list[str]:
    return [f"'text.format: {kind}' is sent to the model as an instruction: {reason}."]


def options(*formats: Format, beside_tools: tuple[Format, ...] | None = None) -> ChatOptions:
    return ChatOptions(can=Capabilities(structured_output=formats, structured_beside_tools=beside_tools))


@pytest.mark.parametrize("known", [ChatOptions(), options("json_schema"), options("json_schema", "json_object")])
def test_a_schema_goes_whole_to_a_server_that_enforces_it(known: ChatOptions) -> None:
    asked = ask(known, text=BY_SCHEMA)
    assert (asked.body["response_format"], asked.warnings) == (NATIVE, [])
    assert asked.body["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("known", "text", "response_format", "instruction", "kind"),
    [
        (options("json_object"), BY_SCHEMA, {"type": "json_object"}, INSTRUCTION, "json_schema"),
        (options(), BY_SCHEMA, None, INSTRUCTION, "json_schema"),
        (options(), ANY_OBJECT, None, JSON, "json_object"),
        (options("json_schema"), ANY_OBJECT, None, JSON, "json_object"),
    ],
)
def test_what_a_server_does_not_enforce_is_told_to_the_model(
    known: ChatOptions, text: dict[str, Any], response_format: dict[str, Any] | None, instruction: str, kind: str
) -> None:
    asked = ask(known, text=text)
    assert asked.body.get("response_format") == response_format
    assert asked.body["messages"] == [
        {"role": "system", "content": instruction},
        {"role": "user", "content": "Hi"},
    ]
    assert asked.warnings == warned(kind)


def test_an_instruction_stands_at_the_end_of_the_clients_own() -> None:
    """One system message: templates of many models take no second one."""
    [system, _] = ask(options(), text=ANY_OBJECT, instructions="Be brief.").body["messages"]
    assert system == {"role": "system", "content": f"Be brief.\n\n{JSON}"}
    items = [{"type": "message", "role": "developer", "content": "Be kind."}, user("Hi")]
    [system, _] = ask(options(), text=ANY_OBJECT, input=items).body["messages"]
    assert system == {"role": "system", "content": f"Be kind.\n\n{JSON}"}


def test_a_model_without_system_messages_hears_it_from_the_user() -> None:
    known = ChatOptions(model=ModelOptions(system_messages="as_user"), can=Capabilities(structured_output=()))
    assert ask(known, text=ANY_OBJECT).body["messages"] == [
        {"role": "user", "content": JSON},
        {"role": "user", "content": "Hi"},
    ]


def test_beside_tools_a_server_may_enforce_less() -> None:
    known = options("json_schema", beside_tools=())
    assert "response_format" in ask(known, text=BY_SCHEMA).body
    asked = ask(known, text=BY_SCHEMA, tools=[F])
    assert "response_format" not in asked.body
    assert asked.body["messages"][0]["content"].endswith("calls of tools are made as usual.")
    assert asked.warnings == warned("json_schema", "its server does not enforce it in a request with tools")


def test_a_longer_conversation_begins_with_the_same_messages() -> None:
    """Prompt caches depend on it."""
    before = ask(options(), text=BY_SCHEMA, input=[user("Hi")]).body["messages"]
    after = ask(options(), text=BY_SCHEMA, input=[user("Hi"), assistant('{"a":1}'), user("Again.")]).body["messages"]
    assert after[: len(before)] == before
