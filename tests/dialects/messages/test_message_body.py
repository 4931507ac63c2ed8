"""The body of a request to the Messages API: histories as whole bodies, and settings by the version of Claude."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.base import FunctionSpec
from app.dialects.messages.message_body import MOST_TOKENS as OF_OTHERS
from app.options import ModelOptions
from app.protocol.problems import ProblemError
from tests.support.chat_requests import assistant, call, output, user
from tests.support.messages_blocks import ANYTHING, Json, block, by_model, by_user, gave, past, picture, used, words
from tests.support.messages_histories import HISTORIES, History, assistant_message, text, thought
from tests.support.messages_requests import HI, asked

EFFORT: Final = {"reasoning": {"effort": "high"}}
TOOL: Final = {"type": "function", "name": "f", "parameters": ANYTHING}
DROP: Final = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_a_history_becomes_a_whole_body(history: History) -> None:
    got = asked(history.request)
    assert (got.body, got.warnings) == (history.body, list(history.warnings))


PIECES: Final = {
    "text": lambda number: (assistant_message(text(f"t{number}")), words(f"t{number}")),
    "refusal": lambda number: (assistant_message({"type": "refusal", "refusal": f"t{number}"}), words(f"t{number}")),
    "thought": lambda number: (thought(f"t{number}"), block(f"t{number}")),
    "call": lambda number: (call(f"c{number}"), used(f"c{number}")),
}


@given(st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=12))
def test_an_assistants_turn_keeps_its_order(kinds: list[str]) -> None:
    """Texts, refusals, thoughts with their signatures and calls; the outputs follow in the order of the calls."""
    kinds = [*kinds, "text"]  # thoughts that nothing follows are left out
    items, blocks = zip(*(PIECES[kind](number) for number, kind in enumerate(kinds)), strict=True)
    ids = [f"c{number}" for number, kind in enumerate(kinds) if kind == "call"]
    outputs = [output(call_id) for call_id in reversed(ids)]
    got = asked({"input": [user("Hi"), *items, *outputs, user("Go")], **EFFORT})
    results = [gave(call_id, words("done")) for call_id in ids]
    assert got.body["messages"] == [by_user(words("Hi")), by_model(*blocks), by_user(*results, words("Go"))]
    assert got.warnings == []


THINKING: Final[list[tuple[str, str | None, Json, str | None]]] = [
    # model, effort, what the body says of thinking, the effort in it
    ("claude-3-5-haiku-latest", "high", {}, None),
    ("claude-3-7-sonnet-20250219", "low", {"type": "enabled", "budget_tokens": 2048}, None),
    ("claude-sonnet-4-20250514", "high", {"type": "enabled", "budget_tokens": 16384}, None),
    ("claude-opus-4-5-20251101", "xhigh", {"type": "enabled", "budget_tokens": 24000}, None),
    ("claude-opus-4-5", "none", {}, None),
    ("claude-opus-4-5", None, {}, None),
    ("anthropic/claude-opus-4.6", "max", {"type": "adaptive"}, "max"),
    ("claude-sonnet-4-6", "max", {"type": "adaptive"}, "high"),
    ("claude-sonnet-4-6", None, {}, None),
    ("claude-opus-4-7", "minimal", {"type": "adaptive", "display": "summarized"}, "low"),
    ("claude-opus-4-8", "none", {}, None),
    ("claude-opus-5", None, {"type": "adaptive", "display": "summarized"}, None),
    ("claude-opus-5", "none", {"type": "disabled"}, None),
    ("claude-fable-5", "none", {"type": "adaptive", "display": "summarized"}, "low"),
    ("claude-opus-5-5", "none", {"type": "adaptive", "display": "summarized", **DROP}, "low"),
    ("claude-sonnet-5-5", "none", {"type": "between_tools", **DROP}, None),
    ("claude-haiku-5-5", "none", {"type": "disabled"}, None),
    ("claude-mythos-5-1", "xhigh", {"type": "adaptive", "display": "summarized"}, "xhigh"),
    ("claude-of-tomorrow", "high", {"type": "adaptive", "display": "summarized", **DROP}, "high"),
    ("kimi-k2", "low", {"type": "enabled", "budget_tokens": 2048}, None),
    ("kimi-k2", "none", {"type": "disabled"}, None),
    ("kimi-k2", None, {}, None),
]


@pytest.mark.parametrize(("model", "effort", "thinking", "sent"), THINKING)
def test_a_model_is_asked_to_think_as_its_version_wants(
    model: str, effort: str | None, thinking: Json, sent: str | None
) -> None:
    body = asked({"reasoning": {"effort": effort}} if effort else {}, model).body
    assert body.get("thinking", {}) == thinking
    assert body.get("output_config") == (None if sent is None else {"effort": sent})
    assert body["max_tokens"] > thinking.get("budget_tokens", 0)


def test_blocks_are_bound_for_anthropics_own_server_only() -> None:
    assert asked({}, "claude-opus-5-5", has_all_features=False).body["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
    }


SETTINGS: Final[list[tuple[str, Json, Json, list[str]]]] = [
    # model, fields of the request, what is in the body for them, warnings
    ("claude-sonnet-4-5", {"temperature": 0.5}, {"temperature": 0.5}, []),
    ("claude-sonnet-4-5", {"temperature": 1.5}, {"temperature": 1}, ["'temperature' was lowered to 1"]),
    ("claude-sonnet-4-5", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5}, ["'top_p' has no effect"]),
    ("claude-sonnet-4-5", {"temperature": 0.5, **EFFORT}, {}, ["'temperature' has no effect"]),
    ("claude-opus-4-7", {"temperature": 1, "top_p": 0.5}, {}, ["'top_p' has no effect"]),
    ("kimi-k2", {"temperature": 1.5, "top_p": 0.5}, {"temperature": 1.5, "top_p": 0.5}, []),
    ("claude-sonnet-4-5", {"max_output_tokens": 77}, {"max_tokens": 77}, []),
    ("kimi-k2", {}, {"max_tokens": OF_OTHERS}, []),
    ("claude-sonnet-4-5", {"service_tier": "auto"}, {"service_tier": "auto"}, []),
    ("claude-sonnet-4-5", {"service_tier": "flex"}, {}, ["'service_tier' has no effect"]),
    ("claude-sonnet-4-5", {"text": {"verbosity": "low"}}, {}, ["'text.verbosity' has no effect"]),
    ("claude-sonnet-4-5", {"user": "u"}, {"metadata": {"user_id": "u"}}, []),
    ("claude-sonnet-4-5", {"tools": [TOOL], "tool_choice": "required"}, {"tool_choice": {"type": "any"}}, []),
    ("claude-sonnet-4-5", {"tools": [TOOL], "tool_choice": "none"}, {"tool_choice": {"type": "none"}}, []),
    (
        "claude-sonnet-4-5",
        {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        [],
    ),
    (
        "claude-sonnet-4-5",
        {"tools": [TOOL], "tool_choice": "required", **EFFORT},
        {"tool_choice": {"type": "any"}},
        ["'reasoning.effort' has no effect on this turn: a model that thinks cannot be required to call a tool."],
    ),
    ("claude-opus-4-7", {"tools": [TOOL], "tool_choice": "required", **EFFORT}, {"tool_choice": {"type": "any"}}, []),
    (
        "claude-opus-5-5",
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "f"}},
        {},
        ["'tool_choice' is sent as 'auto': this model cannot be required to call a tool."],
    ),
    (
        "claude-opus-4-1",
        {"tools": [{**TOOL, "strict": True}]},
        {"tools": [{"name": "f", "input_schema": ANYTHING}]},
        ["'strict' on tools has no effect"],
    ),
]
ALWAYS: Final = ("model", "messages", "stream", "thinking", "output_config", "tools")


@pytest.mark.parametrize(("model", "fields", "sent", "warnings"), SETTINGS)
def test_a_setting_is_sent_or_its_loss_is_said(model: str, fields: Json, sent: Json, warnings: list[str]) -> None:
    got = asked(fields, model)
    optional = {name: value for name, value in got.body.items() if name not in ALWAYS}
    if "max_output_tokens" not in fields and "max_tokens" not in sent:
        del optional["max_tokens"]
    assert optional == {name: value for name, value in sent.items() if name != "tools"}
    assert got.body.get("tools") == sent.get("tools", got.body.get("tools"))
    assert len(got.warnings) == len(warnings)
    assert all(said.startswith(begins) for said, begins in zip(got.warnings, warnings, strict=True))


LOOP: Final = [HI, call("a"), output("a")]
"""A tool loop that another model began."""


STEP: Final = [thought("one"), call("b"), output("b")]
NO_EFFECT: Final = "'reasoning.effort' has no effect on this turn"
LOOPS: Final[list[tuple[str, list[Json], Json, Json | None, str]]] = [
    # model, items, fields of the request, what the body says of thinking, the warning
    ("claude-sonnet-4-5", LOOP, EFFORT, None, NO_EFFECT),
    ("claude-sonnet-4-6", LOOP, EFFORT, {"type": "adaptive"}, ""),
    ("kimi-k2", LOOP, EFFORT, {"type": "disabled"}, NO_EFFECT),
    ("kimi-k2", [*LOOP, *STEP], EFFORT, {"type": "disabled"}, NO_EFFECT),
    ("kimi-k2", [HI, *STEP], EFFORT, {"type": "enabled", "budget_tokens": 16384}, ""),
    ("kimi-k2", [HI, *STEP, call("c"), output("c")], EFFORT, {"type": "enabled", "budget_tokens": 16384}, ""),
    ("kimi-k2", [*LOOP, assistant("Yes."), HI], EFFORT, {"type": "enabled", "budget_tokens": 16384}, ""),
    ("kimi-k2", LOOP, {"reasoning": {"effort": "none"}}, {"type": "disabled"}, ""),
    ("kimi-k2", LOOP, {}, None, ""),
]


@pytest.mark.parametrize(("model", "items", "fields", "thinking", "warning"), LOOPS)
def test_a_loop_that_began_without_thoughts_goes_on(
    model: str, items: list[Json], fields: Json, thinking: Json | None, warning: str
) -> None:
    """A Claude with a budget may not think in it, nor may a model of another maker."""
    got = asked({"input": items, "tools": [TOOL], **fields}, model)
    assert got.body.get("thinking") == thinking
    assert [each.partition(":")[0] for each in got.warnings] == ([warning] if warning else [])


def test_a_model_that_does_not_think_is_sent_no_earlier_thoughts() -> None:
    items = [HI, thought("one"), assistant("Yes."), HI]
    assert asked({"input": items}).body["messages"][1] == by_model(words("Yes."))
    assert asked({"input": items, **EFFORT}).body["messages"][1] == by_model(block("one"), words("Yes."))
    assert asked({"input": items}, "claude-opus-5").body["messages"][1] == by_model(block("one"), words("Yes."))


PDF_URL: Final = "https://example.com/a.pdf"
PARTS: Final[list[tuple[Json, Json]]] = [
    (
        {"type": "input_image", "image_url": "https://e.example/a.png"},
        {"type": "url", "url": "https://e.example/a.png"},
    ),
    (
        {"type": "input_image", "image_url": f"data:image/jpg;base64,{picture()['source']['data']}"},
        picture()["source"],
    ),
    ({"type": "input_file", "file_url": PDF_URL}, {"type": "url", "url": PDF_URL}),
    (
        {"type": "input_file", "filename": "a.txt", "file_data": "SGkhIMOp"},
        {"type": "text", "media_type": "text/plain", "data": "Hi! \xe9"},
    ),
    (
        {"type": "input_file", "filename": "a.txt", "file_data": "/w=="},
        {"type": "base64", "media_type": "text/plain", "data": "/w=="},
    ),
]


@pytest.mark.parametrize(("part", "source"), PARTS)
def test_an_attachment_is_sent_as_its_kind_wants(part: Json, source: Json) -> None:
    [message] = asked({"input": [user(part)]}).body["messages"]
    assert message["content"][0]["source"] == source


def test_a_conversation_begins_and_ends_with_the_user() -> None:
    got = asked({"input": [assistant("Hello.")]})
    assert got.body["messages"] == [by_user(words("Continue.")), by_model(words("Hello.")), by_user(words("Continue."))]
    assert len(got.warnings) == 2


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_prompt_is_refused(blank: str) -> None:
    with pytest.raises(ProblemError) as raised:
        asked({"input": blank})
    assert raised.value.problem.param == "input"


def test_a_schema_without_a_type_is_that_of_an_object() -> None:
    tools = asked({"tools": [{"type": "function", "name": "f", "parameters": {"properties": {}}}]}).body["tools"]
    assert tools == [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]
    assert past("f")["tools"][0]["name"] == FunctionSpec(name="f").name


def test_a_sealed_thought_of_nobody_is_left_out_with_a_warning() -> None:
    """An altered seal, and one of another server: the conversation goes on without it."""
    for sealed in ("AM2.nonsense", "gAAAA-of-openai"):
        item: dict[str, Any] = {"type": "reasoning", "summary": [], "encrypted_content": sealed}
        got = asked({"input": [HI, item, assistant("Yes."), HI], **EFFORT})
        assert got.body["messages"][1] == by_model(words("Yes."))
        assert [warning.partition(" was left out")[0] for warning in got.warnings] == ["input[1]"]


@pytest.mark.parametrize(("window", "limit"), [(None, OF_OTHERS), (200_000, OF_OTHERS), (40_960, 10_240), (1, 1)])
def test_the_limit_of_an_answer_fits_a_known_context_window(window: int | None, limit: int) -> None:
    """VLLM refuses a larger one."""
    assert asked({}, "qwen3", model=ModelOptions(context_window=window)).body["max_tokens"] == limit
