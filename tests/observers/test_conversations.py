"""Which turns belong to one conversation, as far as their content says."""

from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import pytest

from app.observers.conversations import Conversations, TurnPlace
from app.observers.item_digest import item_digest

Json = dict[str, Any]
RULES = {"role": "developer", "content": "Be brief."}
USER = {"role": "user", "content": "Fix it."}
TYPED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
SAID = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}]}  # fmt: skip
SAID_AGAIN = {"role": "assistant", "content": "I look."}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": '{"a":1}', "status": "x"}
CALL_AGAIN = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"a": 1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}
MORE = {"role": "user", "content": "And now?"}
SUMMARY = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
TRIGGER = {"type": "compaction_trigger"}


class Turn(NamedTuple):
    """A turn, and where it is expected: session, since, new_from, is_continued."""

    input: Sequence[Json]
    output: Sequence[Json] | None
    expected: tuple[int, int | None, int, bool]
    name: str = ""


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(
            [
                Turn([USER], [THOUGHT, SAID, CALL], (1, None, 0, False)),
                Turn([USER, THOUGHT, SAID, CALL, OUTPUT], [SAID], (1, 1, 4, True)),
                Turn([USER, THOUGHT, SAID, CALL, OUTPUT, SAID, MORE], [], (1, 2, 6, True)),
            ],
            id="as it was sent",
        ),
        pytest.param(
            [
                Turn([USER], [THOUGHT, SAID, CALL], (1, None, 0, False)),
                Turn([TYPED, SAID_AGAIN, CALL_AGAIN, OUTPUT], [], (1, 1, 3, True)),
            ],
            id="repeated in the client's own way, without reasoning and ids",
        ),
        pytest.param(
            [Turn([USER], [SAID], (1, None, 0, False)), Turn([USER], [SAID], (2, None, 0, False))],
            id="the same question twice is two conversations",
        ),
        pytest.param(
            [Turn([USER], None, (1, None, 0, False)), Turn([USER], [SAID], (1, 1, 1, False))],
            id="asked again after a failure",
        ),
        pytest.param(
            [Turn([USER], None, (1, None, 0, False)), Turn([USER, MORE], [SAID], (1, 1, 1, False))],
            id="more was said after a failure",
        ),
        pytest.param(
            [
                Turn([USER], [SAID], (1, None, 0, False)),
                Turn([USER, {"role": "assistant", "content": "Changed."}, MORE], [], (1, 1, 1, False)),
            ],
            id="an answer that the client has edited",
        ),
        pytest.param(
            [
                Turn([USER], [SAID], (1, None, 0, False)),
                Turn([{"role": "user", "content": "Other."}], [SAID], (2, None, 0, False)),
                Turn([USER, SAID, MORE], [], (1, 1, 2, True)),
                Turn([{"role": "user", "content": "Other."}, SAID, MORE], [], (2, 2, 2, True)),
            ],
            id="two conversations at the same time",
        ),
        pytest.param(
            [
                Turn([USER], [SAID], (1, None, 0, False)),
                Turn([USER, SAID, MORE, TRIGGER], [SUMMARY], (1, 1, 2, True)),
                Turn([MORE, SUMMARY, USER], [], (1, 2, 2, True)),
            ],
            id="after a summary",
        ),
        pytest.param(
            [
                Turn([USER], [SAID], (1, None, 0, False), "thread"),
                Turn([MORE], [SAID], (1, 1, 0, False), "thread"),
                Turn([MORE], [SAID], (2, None, 0, False), "other"),
                Turn([MORE], [SAID], (3, None, 0, False)),
            ],
            id="the client's name of the conversation decides where its content says nothing",
        ),
        pytest.param(
            [
                Turn([USER], [SAID], (1, None, 0, False), "thread"),
                Turn([USER, SAID, MORE], [], (2, 1, 2, True), "fork"),
                Turn([USER, SAID, OUTPUT], [], (1, 1, 2, True), "thread"),
            ],
            id="a fork is a session of its own",
        ),
        pytest.param(
            [
                Turn([RULES], [], (1, None, 0, False), "thread"),
                Turn([RULES, USER], [SAID], (2, None, 0, False), "other"),
                Turn([RULES], [], (3, None, 0, False), "third"),
                Turn([RULES, MORE], [SAID], (3, 3, 1, True), "third"),
                Turn([RULES, USER, SAID, MORE], [SAID], (2, 2, 3, True), "other"),
            ],
            id="the same rules are not the same conversation",
        ),
        pytest.param(
            [Turn([RULES], [], (1, None, 0, False)), Turn([RULES], [], (2, None, 0, False))],
            id="the same rules prepared twice",
        ),
        pytest.param(
            [Turn([], [], (1, None, 0, False)), Turn([], [], (2, None, 0, False))],
            id="requests that are not kept",
        ),
    ],
)
def test_a_turn_continues_the_one_whose_input_and_answer_it_begins_with(turns: list[Turn]) -> None:
    conversations = Conversations(count(1).__next__)
    found = []
    for number, turn in enumerate(turns, 1):
        place = conversations.began(number, [item_digest(item) for item in turn.input], turn.name)
        found.append((place.session, place.since, place.new_from, place.is_continued))
        if turn.output is not None:
            summaries = [item_digest(item) for item in turn.output if item is SUMMARY]
            conversations.answered(number, [item_digest(item) for item in turn.output], summaries)
    assert found == [turn.expected for turn in turns]


def test_nothing_is_left_of_turns_that_are_forgotten() -> None:
    conversations = Conversations(count(1).__next__)
    items: list[bytes] = []
    for number in range(1, 101):
        items.append(item_digest({"role": "user", "content": str(number)}))
        place = conversations.began(number, items, "thread")
        assert place == TurnPlace(1, number - 1, number - 1 or None, len(items) - 1, number > 1)
        items.append(item_digest({"role": "assistant", "content": str(number)}))
        conversations.answered(number, items[-1:], [item_digest(SUMMARY)])
    assert conversations.turns_of(1) == list(range(1, 101))
    for number in range(1, 101):
        conversations.forget(number)
        conversations.forget(number)
        conversations.answered(number, items)
    assert conversations.turns_of(1) == []
    assert [*vars(conversations).values()][1:] == [{}] * 6
    assert conversations.began(101, items, "thread").session == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (USER, TYPED, True),
        (SAID, SAID_AGAIN, True),
        (CALL, CALL_AGAIN, True),
        (CALL, {**CALL, "call_id": "c2"}, False),
        (CALL, {**CALL, "name": "cat"}, False),
        (OUTPUT, {**OUTPUT, "output": [{"type": "input_text", "text": "a.txt"}]}, True),
        (OUTPUT, {**OUTPUT, "output": "b.txt"}, False),
        (USER, {**USER, "role": "developer"}, False),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "data:a"}]},
         {"role": "user", "content": [{"type": "input_image", "image_url": "data:b"}]}, False),
        ({"type": "web_search_call", "id": "ws_1", "action": {"query": "a"}},
         {"type": "web_search_call", "action": {"query": "a"}}, True),
        ("odd", 7, False),
        ({"type": None}, {"type": ["list"]}, False),
        ({"content": "\ud800"}, {"content": "\ud801"}, False),
    ],
)  # fmt: skip
def test_items_are_the_same_however_a_client_repeats_them(one: Any, other: Any, *, same: bool) -> None:
    assert (item_digest(one) == item_digest(other)) is same


def test_reasoning_may_be_left_out() -> None:
    assert item_digest(THOUGHT) == item_digest({"type": "item_reference", "id": "rs_1"}) == b""
