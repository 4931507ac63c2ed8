"""Requests, and what a chat server is asked: tables of what no black-box case shows."""

from typing import Any, Final

import pytest

from app.dialects.chat.body import body
from app.prompt.build import build
from app.prompt.nouns import Model
from app.providers.table import provider_of
from app.settings.tables import Can, ModelSettings, ServerSettings, UpstreamSettings
from app.tools.table import SHAPES
from app.types.parse import parse

Json = dict[str, Any]
F: Final = {"type": "function", "name": "f", "strict": True}
HI: Final = {"role": "user", "content": "Hi"}
HELLO: Final = {"role": "assistant", "content": "Hello."}
BRIEF: Final = {"role": "system", "content": "Be brief."}
THOUGHT: Final = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
JSON_ONLY: Final = "Answer with one JSON object and nothing else: no words before or after it, no code fence."
MARK: Final = {"cache_control": {"type": "ephemeral"}}
AUTO: Final = {"settings": ModelSettings(cache_control="auto")}


def marked(text: str) -> list[Json]:
    return [{"type": "text", "text": text, **MARK}]


def asked(request: Json, facts: Json) -> tuple[Json, list[str]]:
    """The body, and its warnings."""
    usual = Model(
        "m", "m", ModelSettings(), UpstreamSettings(via="demo"), provider_of(None), Can(), ServerSettings(), ""
    )
    model = usual._replace(**facts)
    parsed, _ = parse({"model": "m", "input": "Hi", **request}, SHAPES)
    prompt, _, warnings = build(parsed, model)
    found, lost = body(prompt, model)
    return found, [*warnings, *lost]


def assert_told(texts: list[str], expected: list[str]) -> None:
    assert [part for part, text in zip(expected, texts, strict=True) if part not in text] == []


EFFORT: Final = {"reasoning": {"effort": "max"}}
OBJECT: Final = {"text": {"format": {"type": "json_object"}}}
SCHEMA: Final = {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}}
CHOSEN: Final = {"tools": [F, {**F, "name": "g"}], "tool_choice": {"type": "function", "name": "g"}}
G: Final = {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}
BREAK: Final = {"role": "user", "content": [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": {}}]}
EXPLICIT: Final = {"prompt_cache_options": {"mode": "explicit"}}


def model(**settings: Any) -> Json:
    return {"settings": ModelSettings(**settings)}


def upstream(**settings: Any) -> Json:
    return {"upstream": UpstreamSettings(via="demo", **settings)}


def can(**facts: Any) -> Json:
    return {"can": Can(**facts)}


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


ROLES: Final[list[tuple[list[Json], Json, list[Json], list[str]]]] = [
    ([user(" ")], {}, [user(" ")], []),
    ([BRIEF, HI, BRIEF, HI], {"upstream_name": "gemma-3"}, [BRIEF, user("Hi\n\nBe brief.\n\nHi")], ["System messages"]),
    ([HI, BRIEF], model(system_messages="merge_head"), [BRIEF, HI], []),
    ([BRIEF], model(system_messages="as_user"), [user("Be brief.")], []),
    ([BRIEF, HI], upstream(system_role="developer"), [{**BRIEF, "role": "developer"}, HI], []),
    ([HELLO], {"provider": provider_of("deepseek")}, [{**HELLO, "reasoning_content": " "}], []),
    ([THOUGHT, HELLO], model(give_back_reasoning=False), [HELLO], []),
    ([THOUGHT, HELLO], upstream(reasoning_field="reasoning"), [{**HELLO, "reasoning": "Hm."}], []),
    ([THOUGHT, HELLO], {"signed_reasoning": True}, [HELLO], ["reasoning"]),
    ([BRIEF, HI, HELLO, HI], AUTO, [{**BRIEF, "content": marked("Be brief.")}, user(marked("Hi")), HELLO,
                                    user(marked("Hi"))], []),
    ([BRIEF], AUTO, [{**BRIEF, "content": marked("Be brief.")}], []),
    ([BREAK], {}, [user("a")], ["prompt_cache_breakpoint"]),
]  # fmt: skip
BODIES: Final[list[tuple[Json, Json, Json, list[str]]]] = [
    *[({"input": items}, facts, {"messages": sent}, warnings) for items, facts, sent, warnings in ROLES],
    ({"input": [BREAK, HELLO, HI], **EXPLICIT}, AUTO, {"messages": [user(marked("a")), HELLO, HI]}, []),
    (EXPLICIT, {}, {"messages": [HI]}, ["prompt_cache_options"]),
    ({"input": [THOUGHT, HELLO, HI], "reasoning": {"context": "current_turn"}}, {}, {"messages": [HELLO, HI]}, []),
    ({"max_output_tokens": 9}, upstream(max_tokens_field="max_completion_tokens"), {"max_completion_tokens": 9}, []),
    ({}, {"provider": provider_of("mistral")}, {"stream_options": None}, []),
    (EFFORT, {}, {"reasoning_effort": "max"}, []),
    (EFFORT, model(reasoning_efforts=("low", "high")), {"reasoning_effort": "high"}, ["reasoning.effort"]),
    (EFFORT, can(reasoning=False), {"reasoning_effort": None}, ["reasoning.effort"]),
    ({**EFFORT, "max_output_tokens": 9}, {"thinking_tokens": {"max": 9}}, {"reasoning_effort": "xhigh"},
     ["reasoning.effort"]),
    ({**EFFORT, "input": [HI, {"type": "configuration_update", "reasoning": {"effort": "low"}}]}, {},
     {"reasoning_effort": "low"}, []),
    (OBJECT, {}, {"response_format": {"type": "json_object"}}, []),
    (OBJECT, can(structured_output=()), {"response_format": None, "messages": [{**BRIEF, "content": JSON_ONLY}, HI]},
     ["json_object"]),
    (SCHEMA, can(structured_output=("json_object",)), {"response_format": {"type": "json_object"}}, ["json_schema"]),
    ({"text": {"verbosity": "low"}}, can(verbosity=False), {"verbosity": None}, ["verbosity"]),
    ({"tools": [F], "parallel_tool_calls": False}, can(parallel_calls=False, strict_tools=False),
     {"parallel_tool_calls": None}, ["strict", "parallel_tool_calls"]),
    (CHOSEN, upstream(named_tool_choice="required", strict_tools=False), {"tool_choice": "required", "tools": [G]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "facts", "expected", "warnings"), BODIES)
def test_a_body_is_as_its_model_needs_it(request_: Json, facts: Json, expected: Json, warnings: list[str]) -> None:
    found, texts = asked(request_, facts)
    assert {key: found.get(key) for key in expected} == expected
    assert_told(texts, warnings)
