"""What the lanes of `make conformance` stand on: scripts said in another API, and bodies read from it."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conformance import lines
from tests.conformance.bodies import Body, MadeCall, chat_body, messages_body
from tests.conformance.cells import CELLS
from tests.conformance.checks import Tools
from tests.conformance.lanes import LANES, Lane
from tests.support.block_scripts import as_blocks
from tests.support.chat_as_messages import SIGNATURE, NoCounterpartError
from tests.support.event_scripts import ENCRYPTED, as_events
from tests.support.messages_blocks import block, by_model, by_user, gave, picture, used, words
from tests.wire.script import breaks, calls, cites, counts, more, opens, refuses, says, stops, thinks, turn
from tests.wire.servers import Ask, Cut, Pause, Script, Status, Step
from tests.wire.servers.anthropic import ends, text, thinking, tool_use
from tests.wire.servers.anthropic_types import event_faults
from tests.wire.servers.responses import answer, call, message, reasoning

Json = dict[str, Any]

WROTE: Any = {"output_tokens": 5}
BOOM: Json = {"type": "error", "error": {"type": "api_error", "message": "Boom"}}
REFUSED: Json = {"type": "refusal", "category": None, "explanation": "No, never."}
PICTURE: Json = {"type": "input_image", "image_url": lines.PICTURE}
ITEM_DONE = "response.output_item.done"
SCHEMA: Json = {"type": "object"}
NOTHING = Body({}, {}, [], [], None, thinks=False, thoughts=[])


@pytest.mark.parametrize(
    ("script", "blocks"),
    [
        (turn(says("Hel"), says("lo")), [*text(0, "Hel", "lo"), *ends(**WROTE)]),
        (
            turn(thinks("So"), thinks("."), says("Hi"), reason="length"),
            [
                *thinking(0, "So", ".", signature=SIGNATURE),
                *text(1, "Hi"),
                *ends("max_tokens", **WROTE),
            ],
        ),
        (
            turn(
                thinks("So"),
                calls(0, "f", id="a"),
                calls(1, "g", id="b"),
                more(1, "{}"),
                more(0, '{"x":'),
                more(0, " 1}"),
                reason="tool_calls",
            ),
            [
                *thinking(0, "So", signature=SIGNATURE),
                *tool_use(1, "f", "a", '{"x":', " 1}"),
                *tool_use(2, "g", "b", "{}"),
                *ends("tool_use", **WROTE),
            ],
        ),
        (
            [opens(), says("Hi"), Pause(1), says("!"), Cut()],
            [*(hi := text(0, "Hi", "!"))[:2], Pause(1), hi[2], Cut()],
        ),
        ([opens(), says("Hi"), breaks("Boom")], [*text(0, "Hi")[:2], BOOM]),
        (
            turn(refuses("No, "), refuses("never.")),
            [
                {
                    **(end := ends("refusal", **WROTE))[0],
                    "delta": {"stop_reason": "refusal", "stop_sequence": None, "stop_details": REFUSED},
                },
                end[1],
            ],
        ),
        (
            [Status(500, {"error": {"message": "Boom", "code": None}}, {"retry-after": "2"})],
            [Status(500, BOOM, {"retry-after": "2"})],
        ),
    ],
    ids=["text", "thoughts and a limit", "interleaved calls", "a pause and a cut", "an error", "a refusal", "a status"],
)
def test_a_script_says_the_same_in_blocks(script: Script, blocks: Script) -> None:
    steps = as_blocks(script)
    assert not callable(steps)
    assert [step for step in steps if not isinstance(step, dict) or step["type"] != "message_start"] == blocks
    answers = as_blocks(lambda _: steps_of(script))
    assert callable(answers)
    assert answers(Ask("/", {}, {}, b"")) == steps


def steps_of(script: Script) -> Sequence[Step]:
    assert not callable(script)
    return script


def asked(**body: Any) -> Ask:
    return Ask("/", {}, {"model": "m", "input": [{"role": "user", "content": "Go"}], **body}, b"")


def told(script: Script, **body: Any) -> list[Step]:
    """What a server of the Responses API does for this request."""
    return as_events(script)(asked(**body))


def test_a_script_says_the_same_in_events() -> None:
    script = turn(
        thinks("So"), says("Hi"), calls(0, "f", id="a"), calls(1, "g", id="b"), more(1, "{}"), more(0, '{"x":'),
        more(0, " 1}"), reason="tool_calls",
    )  # fmt: skip
    said = (
        reasoning("rs_1n0", "So", encrypted=ENCRYPTED),
        message("msg_1n1", "Hi"),
        call("fc_1n2", "a", "f", '{"x":', " 1}"),
        call("fc_1n3", "b", "g", "{}"),
    )
    assert told(script, include=["reasoning.encrypted_content"]) == answer(*said)
    (thought, *_) = [step for step in told(script) if isinstance(step, dict) and step["type"] == ITEM_DONE]
    assert "encrypted_content" not in thought["item"]


@pytest.mark.parametrize(
    ("script", "ends"),
    [
        (turn(says("Hel"), says("lo")), ["lo", ("completed", "completed")]),
        (turn(says("Hel"), reason="length"), [("completed", "incomplete")]),
        ([opens(), says("Hel"), Pause(1), says("lo"), stops()], [Pause(1), "lo", ("completed", "completed")]),
        ([opens(), says("Hel"), Cut()], [Cut()]),
        ([opens(), says("Hel"), breaks("Boom")], [("failed", "failed")]),
        ([Status(429, {"error": {"message": "Slow"}})], [Status(429, {"error": {"message": "Slow"}})]),
    ],
    ids=["an end", "a limit, as vLLM words it", "a pause", "a cut", "an error", "a status"],
)
def test_events_end_or_are_interrupted_where_the_script_is(script: Script, ends: list[Any]) -> None:
    seen = [later(step) for step in told(script)]
    assert [part for part in seen if part is not None and part != "Hel"] == ends


def later(step: Step) -> Any:
    """A piece of text, an end, or what interrupts."""
    if not isinstance(step, dict):
        return step
    name = step["type"].removeprefix("response.")
    if name in {"completed", "failed", "incomplete"}:
        return name, step["response"]["status"]
    return step.get("delta")


def test_a_refusal_is_a_part_of_a_message_and_the_format_is_repeated() -> None:
    text = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}
    *_, last = told(turn(refuses("No, "), refuses("never.")), text=text)
    assert isinstance(last, dict)
    assert last["response"]["text"] == text
    assert last["response"]["output"][0]["content"] == [{"type": "refusal", "refusal": "No, never."}]


@pytest.mark.parametrize("cell", CELLS)
def test_the_blocks_of_every_behaviour_are_as_anthropic_sends_them(cell: str) -> None:
    for script in CELLS[cell].play(Tools()):
        blocks = as_blocks(script)
        assert not callable(blocks)
        events = [step for step in blocks if isinstance(step, dict)]
        for event in events:
            if event["type"] == "message_start":
                event["message"]["model"] = "as it is asked"
        assert [fault for event in events for fault in event_faults(event)] == []


@pytest.mark.parametrize("chunk", [cites("https://example.com", "A page", 0, 1), says("Hi", logprobs={"content": []})])
def test_what_the_api_has_not_is_not_left_out_silently(chunk: Json) -> None:
    script = [opens(), chunk, stops(), counts(1, 1)]
    with pytest.raises(NoCounterpartError):
        as_blocks(script)
    with pytest.raises(NoCounterpartError):
        told(script)


CALL: Json = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
BODIES: dict[str, Json] = {
    "litellm": {
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": lines.PICTURE}}]},
            {"role": "assistant", "reasoning_content": "Hm.", "content": "Look", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "It is\n1."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": lines.PICTURE}}]},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    },
    "responses": {
        "input": [
            {"role": "user", "content": [PICTURE]},
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": ENCRYPTED,
            },
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_text", "text": part} for part in ("It is", "1.")] + [PICTURE],
            },
        ],
        "tools": [{"type": "function", "name": "f"}],
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    },
    "messages": {
        "messages": [
            by_user(picture(lines.PIXEL)),
            by_model(words("Look"), {**block("Hm."), "signature": SIGNATURE}, used("a", x=1)),
            by_user(gave("a", words("It is"), words("1."), picture(lines.PIXEL))),
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    },
}


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_the_same_is_read_in_every_api(lane: Lane) -> None:
    body = BODIES["litellm" if lane.is_relayed else lane.via]
    assert lane.read(body) == Body(
        calls={"a": MadeCall("f", {"x": 1})},
        outputs={"a": "It is\n1."},
        pictures=[lines.PICTURE, lines.PICTURE],
        tools=["f"],
        schema=SCHEMA,
        thinks=True,
        thoughts=[("Hm.", "a")],
    )


@pytest.mark.parametrize(
    ("read", "content"), [(chat_body, "Hi"), (messages_body, [words("Hi")]), (messages_body, "Hi")]
)
def test_a_body_may_hold_nothing_but_a_text(read: Any, content: Any) -> None:
    assert read({"messages": [{"role": "user", "content": content}]}) == Body(
        {}, {}, [], [], None, thinks=False, thoughts=[]
    )
