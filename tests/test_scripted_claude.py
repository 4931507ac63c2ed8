"""The scripted server of the Messages API: what it refuses, and that it sends what Anthropic's own package knows."""

from typing import Any, Final

import httpx
import pytest

from tests.wire.servers import KEY, Answer, AnthropicUpstream, Calls, Hides, Says, Script, Thinks
from tests.wire.servers.anthropic import begins, block, ends, text, thinking, tool_use

Json = dict[str, Any]

HELLO: Final[Json] = {"role": "user", "content": "Hello"}
CLAUDE: Final[Json] = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True, "messages": [HELLO]}
USE: Final[Json] = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
OTHER_USE: Final[Json] = {**USE, "id": "t2"}
RESULT: Final[Json] = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
OTHER_RESULT: Final[Json] = {**RESULT, "tool_use_id": "t2"}
WORDS: Final[Json] = {"type": "text", "text": "Well?"}
THOUGHT: Final[Json] = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED: Final[Json] = {"type": "redacted_thinking", "data": "c2Vj"}
TOOLS: Final[list[Json]] = [{"name": "f", "input_schema": {"type": "object"}}]
BUDGET: Final[Json] = {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
ADAPTIVE: Final[Json] = {"thinking": {"type": "adaptive"}}
MARK: Final[Json] = {"cache_control": {"type": "ephemeral"}}
MARKED: Final[Json] = {**WORDS, **MARK}
MARKED_TOOLS: Final = [{**TOOLS[0], **MARK, "name": name} for name in ("f", "g")]


def says(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def gives(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def loop(*messages: Json, **more: Any) -> Json:
    return {"messages": [HELLO, *messages], "tools": TOOLS, **more}


CLOSED: Final = {"type": "object", "properties": {}, "additionalProperties": False}
PAIRED: Final = loop(says(USE), gives(RESULT, WORDS))

LEGAL: Final[dict[str, Json]] = {
    "a question": {},
    "a call and its result": PAIRED,
    "two calls, answered the other way round": loop(says(USE, OTHER_USE), gives(OTHER_RESULT, RESULT)),
    "thoughts before a call": loop(says(THOUGHT, WORDS, USE), gives(RESULT), **BUDGET),
    "redacted thoughts before a call": loop(says(REDACTED, USE), gives(RESULT), **BUDGET),
    "thoughts that began the loop": loop(
        says(THOUGHT, USE), gives(RESULT), says(OTHER_USE), gives(OTHER_RESULT), **BUDGET
    ),
    "no thoughts in a loop that is over": loop(says(USE), gives(RESULT), says(WORDS), HELLO, **BUDGET),
    "no thoughts where the model thinks as needed": {**PAIRED, **ADAPTIVE},
    "signed thoughts without text": loop(says({**THOUGHT, "thinking": ""}, WORDS), HELLO, **BUDGET),
    "four marks": {"messages": [gives(*[MARKED] * 3)], "system": [MARKED]},
    "temperature 1 with thinking": {**BUDGET, "temperature": 1, "top_p": 0.95},
    "temperature without thinking": {"temperature": 0.2, "top_k": 3},
    "a demanded call without thinking": {"tools": TOOLS, "tool_choice": {"type": "any"}},
    "a choice of the model with thinking": {**BUDGET, "tools": TOOLS, "tool_choice": {"type": "auto"}},
    "a demanded call where the model thinks as needed": {**ADAPTIVE, "tools": TOOLS, "tool_choice": {"type": "any"}},
    "a message of the system, later": {
        "model": "claude-opus-5",
        "messages": [HELLO, HELLO | {"role": "system"}],
    },
    "a search of its own": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
}

ILLEGAL: Final[dict[str, tuple[Json, str]]] = {
    "thinking without thoughts before the call": ({**PAIRED, **BUDGET}, "Expected `thinking`"),
    "text before the thoughts": (loop(says(WORDS, THOUGHT, USE), gives(RESULT), **BUDGET), "but found `text`"),
    "thoughts where none were asked for": (loop(says(THOUGHT, USE), gives(RESULT)), "When thinking is disabled"),
    "thoughts without a signature": (
        loop(says({"type": "thinking", "thinking": "Hm."}, WORDS), HELLO, **BUDGET),
        "thinking.signature: Field required",
    ),
    "past calls without tools": ({"messages": PAIRED["messages"]}, "past calls need tools"),
    "a call without its result": (loop(says(USE)), "the calls ['t1'] have no results"),
    "a call without its result, and more": (loop(says(USE), HELLO), "messages[2] answers []"),
    "a result without its call": (loop(gives(RESULT)), "messages[1] answers ['t1'], but the open calls are []"),
    "a result of another call": (loop(says(USE), gives(OTHER_RESULT)), "the open calls are ['t1']"),
    "two results of one call": (loop(says(USE), gives(RESULT, RESULT)), "messages[2] answers ['t1', 't1']"),
    "words before a result": (loop(says(USE), gives(WORDS, RESULT)), "tool_result blocks must come first"),
    "five marks, one within a result": (
        loop(says(USE), gives({**RESULT, "content": [MARKED]}), says(*[MARKED] * 4), HELLO),
        "Found 5.",
    ),
    "temperature with a budget": ({**BUDGET, "temperature": 0.5}, "`temperature` may only be set to 1"),
    "temperature with thinking as needed": ({**ADAPTIVE, "temperature": 0}, "`temperature` may only be set to 1"),
    "top_k with thinking": ({**BUDGET, "top_k": 3}, "`top_k` must be unset"),
    "a low top_p with thinking": ({**BUDGET, "top_p": 0.9}, "`top_p` must be at least 0.95"),
    "blank text": ({"messages": [gives({"type": "text", "text": " "})]}, "messages[0]: a text block is blank"),
    "empty text": ({"messages": [gives(WORDS, {"type": "text", "text": ""})]}, "messages[0]: a text block is blank"),
    "a blank message": ({"messages": [{"role": "user", "content": " "}]}, "messages[0]: a text block is blank"),
    "empty text of the assistant": (
        {"messages": [HELLO, says({"type": "text", "text": ""}), HELLO]},
        "messages[1]: a text block is blank",
    ),
    "an empty system prompt": ({"system": [{"type": "text", "text": ""}]}, "system.0: a text block is blank"),
    "an empty message": ({"messages": [HELLO, says()]}, "messages[1].content is empty"),
    "the assistant first": ({"messages": [says(WORDS), HELLO]}, "the first message must be the user's"),
    "no messages": ({"messages": []}, "the first message must be the user's"),
    "a message of the system": (
        {"messages": [HELLO, HELLO | {"role": "system"}]},
        "role 'system' is not supported on this model",
    ),
    "a citation without its index": (
        {"messages": [HELLO, says({**WORDS, "citations": [{"type": "x", "url": "y", "cited_text": "z"}]}), HELLO]},
        "citations.encrypted_index: Field required",
    ),
    "an open schema": (
        {"output_config": {"format": {"type": "json_schema", "schema": {**CLOSED, "additionalProperties": True}}}},
        "'additionalProperties' must be explicitly set to false",
    ),
    "thoughts of the user": ({"messages": [gives(THOUGHT)]}, "block thinking is not allowed for user"),
    "a small budget": ({**BUDGET, "thinking": {"type": "enabled", "budget_tokens": 1023}}, "at least 1024"),
    "no limit": ({"max_tokens": None}, "max_tokens is required"),
    "a whole answer": ({"stream": False}, "stream must be true"),
    "an unknown parameter": ({"extra_body": {}}, "unknown parameter extra_body"),
    "no tools": ({"tools": []}, "tools must not be empty"),
    "a choice without tools": ({"tool_choice": {"type": "auto"}}, "tool_choice without tools"),
    "a choice of another tool": ({"tools": TOOLS, "tool_choice": {"type": "tool", "name": "g"}}, "Tool 'g' not found"),
    "two tools with one name": ({"tools": TOOLS * 2}, "Tool names must be unique"),
    "a bad name": ({"tools": [{**TOOLS[0], "name": "a b"}]}, "tool name a b is malformed"),
    "a tool without a schema": ({"tools": [{"name": "f"}]}, "tool f has no input_schema of an object"),
}  # fmt: skip


def violations(upstream: AnthropicUpstream, *changes: Json) -> list[str]:
    """What this server has to complain about after these requests."""
    upstream.may_violate = True
    for change in changes:
        ask(upstream, change)
    return upstream.violations


def ask(upstream: AnthropicUpstream, change: Json) -> httpx.Response:
    headers = {"x-api-key": KEY, "anthropic-version": "1"}
    return httpx.post(f"{upstream.url}/v1/messages", json=CLAUDE | change, headers=headers, timeout=10)


@pytest.mark.parametrize("name", LEGAL)
def test_it_answers_what_claude_answers(name: str) -> None:
    with AnthropicUpstream() as upstream:
        assert violations(upstream, LEGAL[name]) == []


@pytest.mark.parametrize("name", ILLEGAL)
def test_it_refuses_what_claude_refuses(name: str) -> None:
    change, fault = ILLEGAL[name]
    with AnthropicUpstream() as upstream:
        [found] = violations(upstream, change)
    assert fault in found


SAID: Final[Answer] = [
    Thinks("Hm."),
    Says("I look."),
    Thinks("Twice."),
    Hides("Secret."),
    Calls("f", "{}"),
    Calls("f", "{}"),
]
LOST: Final = "was said otherwise"


def _edited(blocks: list[Json], *kept: int, **changes: Any) -> list[Json]:
    """Some of these blocks, the first of them changed."""
    chosen = [blocks[place] for place in kept]
    return [{**chosen[0], **changes}, *chosen[1:]]


@pytest.mark.parametrize(
    ("kept", "changes", "fault"),
    [
        ((0, 1, 2, 3, 4, 5), {}, None),
        ((2, 1, 0, 3, 4, 5), {}, LOST),
        ((0, 2, 1, 3, 4, 5), {}, LOST),
        ((0, 1, 3, 2, 4, 5), {}, LOST),
        ((0, 1, 2, 4, 5), {}, LOST),
        ((0, 4, 5), {}, LOST),
        ((1, 4, 5), {}, "Expected `thinking`"),
        ((0, 1, 2, 3, 4, 5), {"signature": "YWx0ZXJlZA=="}, "Invalid `signature` in `thinking` block"),
        ((0, 1, 2, 3, 4, 5), {"thinking": "Hm"}, "Invalid `signature` in `thinking` block"),
        ((3, 1, 2, 4, 5), {"data": "YWx0ZXJlZA=="}, "Invalid `signature` in `thinking` block"),
    ],
)
def test_it_wants_back_what_its_model_said(kept: tuple[int, ...], changes: Json, fault: str | None) -> None:
    """In its order, to the letter."""
    with AnthropicUpstream().say(SAID, [Says("Fine.")]) as upstream:
        upstream.may_violate = True
        said = ask(upstream, {**BUDGET, "tools": TOOLS, "stream": False}).json()["content"]
        results = [{**RESULT, "tool_use_id": block["id"]} for block in said if block["type"] == "tool_use"]
        again = ask(upstream, loop(says(*_edited(said, *kept, **changes)), gives(*results), **BUDGET))
    assert again.status_code == (200 if fault is None else 400)
    assert any(fault in found for found in upstream.violations) if fault else upstream.violations == []


SENT: Final[dict[str, Script]] = {
    "text": [*begins(), *text(0, "Hi"), *ends()],
    "every block": [
        *begins(cache_read_input_tokens=3),
        *thinking(0, "Hm."),
        *block(1, "redacted_thinking", data="c2Vj"),
        *tool_use(2, "f", "t1", "{", "}"),
        *ends("tool_use", output_tokens_details={"thinking_tokens": 2}),
    ],
    "an error": [*begins(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
}
ODD: Final[dict[str, tuple[Script, str]]] = {
    "an unknown event": ([{"type": "message_pause"}], "message_pause"),
    "an unknown block": (block(0, "poem"), "content_block"),
    "an unknown delta": (block(0, "text", {"type": "rhyme_delta"}, text=""), "delta"),
    "text that is a number": (block(0, "text", {"type": "text_delta", "text": 1}, text=""), "text"),
    "an unknown reason": (ends("bored"), "stop_reason"),
    "a message without an id": ([{"type": "message_start", "message": {"role": "assistant"}}], "message.id"),
    "an error without a type": ([{"type": "error", "error": {"message": "No."}}], "error"),
}


@pytest.mark.parametrize("name", SENT)
def test_it_sends_what_the_package_of_anthropic_knows(name: str) -> None:
    with AnthropicUpstream(SENT[name]) as upstream:
        assert violations(upstream, {}) == []


@pytest.mark.parametrize("name", ODD)
def test_an_event_that_the_package_does_not_know_fails_the_test(name: str) -> None:
    script, words = ODD[name]
    with AnthropicUpstream(script) as upstream:
        found = violations(upstream, {})
    assert any("as Anthropic sends it" in fault and words in fault for fault in found), found
