"""What a connection remembers, without a connection."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.prompt_cache.fingerprint import fingerprint
from app.prompt_cache.prefix import Prefix
from app.protocol.events import Ending, LastEvent, RelayedLast, ResponseCompleted
from app.protocol.output_items import FunctionCall, Message, OutputText
from app.protocol.problems import ProblemError
from app.protocol.response import Response
from app.settings import Key
from app.turns.conversation_memory import ConversationMemory, continued_input, conversation_of
from app.turns.prompt_comparison import KnownPrompt
from app.turns.quota import Quota, Share

ROOM = 10_000


def remembering(limit: int, quota: Quota | None = None) -> ConversationMemory:
    return ConversationMemory(limit, Share(quota or Quota(100_000_000, 100_000_000), Key("alice", b"k")))


def completed_event(response_id: str, text: str) -> LastEvent:
    output = [Message(id="msg_1", status="completed", content=[OutputText(text=text)])]
    response = Response(id=response_id, created_at=0, model="demo", status="completed", output=[*output])
    return ResponseCompleted(sequence_number=0, response=response)


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": text}


def code_of(memory: ConversationMemory, response_id: str) -> str | None:
    """The code of the refusal, if it is one."""
    try:
        memory.recall(memory.find(response_id))
    except ProblemError as error:
        return error.problem.code
    return None


@given(st.lists(st.tuples(st.one_of(st.text(), st.lists(st.text(), max_size=3)), st.text()), min_size=1, max_size=8))
def test_a_conversation_is_recalled_whole_however_its_turns_were_told(
    turns: list[tuple[str | list[str], str]],
) -> None:
    """As a text or as items, in any characters, it is the same as if everything had been sent at once."""
    memory, whole, last_id = remembering(10_000_000), [], None
    for number, (new, answer) in enumerate(turns):
        given_input: Any = new if isinstance(new, str) else [user(text) for text in new]
        if last_id is not None:
            given_input = continued_input(memory.recall(memory.find(last_id)), given_input)
        last_id = f"resp_{number}"
        memory.keep(None, *conversation_of(given_input, completed_event(last_id, answer)))
        whole += [user(text) for text in ([new] if isinstance(new, str) else new)] + [message(answer)]
    assert last_id is not None
    assert memory.recall(memory.find(last_id)) == whole


def test_a_relayed_answer_is_remembered_as_its_upstream_told_it() -> None:
    item = {"type": "web_search_call", "id": "ws_AM-1", "status": "completed", "action": {"of": "the upstream's own"}}
    body = msgspec.json.encode({"id": "resp_AM-9", "output": [item]})
    last = RelayedLast(sequence_number=0, name=b"", data=b"", body=body, response=Ending(status="completed"))
    memory = remembering(ROOM)
    memory.keep(None, *conversation_of("Hello", last))
    assert memory.recall(memory.find("resp_AM-9")) == [user("Hello"), item]


@pytest.mark.parametrize("body", [b"{}", b'{"id":1,"output":{}}', b'{"id":null,"output":null}'])
def test_a_relayed_answer_without_an_id_is_nobodys_to_continue(body: bytes) -> None:
    last = RelayedLast(sequence_number=0, name=b"", data=b"", body=body, response=Ending(status="completed"))
    memory = remembering(ROOM)
    memory.keep(None, *conversation_of("Hello", completed_event("resp_1", "one")))
    memory.keep(None, *conversation_of("Hello", last))
    assert [code_of(memory, given) for given in ("resp_1", "None", "")] == ["previous_response_not_found"] * 3


def test_it_holds_no_more_than_it_may() -> None:
    memory = remembering(ROOM)
    memory.keep(None, *conversation_of("x" * (ROOM // 2), completed_event("resp_1", "one")))
    assert code_of(memory, "resp_1") is None
    memory.keep(None, *conversation_of("x" * ROOM, completed_event("resp_2", "two")))
    assert [code_of(memory, given) for given in ("resp_1", "resp_2")] == ["previous_response_not_found"] * 2


def test_it_holds_no_more_than_its_caller_may_and_gives_all_of_it_back() -> None:
    quota = Quota(ROOM, ROOM)
    one, other = remembering(ROOM, quota), remembering(ROOM, quota)
    one.keep(None, *conversation_of("x" * (ROOM // 2), completed_event("resp_1", "one")))
    other.keep(None, *conversation_of("x" * (ROOM // 2), completed_event("resp_2", "two")))
    assert [code_of(one, "resp_1"), code_of(other, "resp_2")] == [None, "previous_response_not_found"]
    one.keep(None, *conversation_of("x", completed_event("resp_3", "one")))
    other.keep(None, *conversation_of("x" * (ROOM // 2), completed_event("resp_4", "two")))
    assert [code_of(one, "resp_3"), code_of(other, "resp_4")] == [None, None]
    one.forget(None, "resp_3")
    other.clear()
    other.clear()
    assert quota._held == {}


def test_its_prompt_counts_too_and_goes_with_the_response() -> None:
    quota = Quota(ROOM, ROOM)
    memory, full = remembering(ROOM, quota), remembering(ROOM, quota)
    prompt = KnownPrompt("resp_1", "req_1", None, fingerprint(Prefix(), upstream="up", model="m"))
    conversation = conversation_of("x" * 100, completed_event("resp_1", "one"))
    memory.keep(None, *conversation, prompt)
    assert memory.prompts_for(None).prompts == memory.prompts_for("other").prompts == [prompt]
    held = len(conversation[1]) + prompt.fingerprint.size
    assert sum(quota._held.values()) == held
    full.keep(None, *conversation_of("x" * (ROOM - held - 400), completed_event("resp_2", "two")), prompt)
    assert (code_of(full, "resp_2"), full.prompts_for(None).prompts) == (None, [])  # there was no more room
    memory.forget(None, "resp_1")
    full.clear()
    assert memory.prompts_for(None).prompts == []
    assert quota._held == {}


def test_only_what_was_continued_is_forgotten() -> None:
    memory = remembering(ROOM)
    memory.keep(None, *conversation_of("Hello", completed_event("resp_1", "one")))
    others: list[object] = [None, "resp_0", 1, {}]
    for other in others:
        memory.forget(None, other)
    assert code_of(memory, "resp_1") is None
    memory.forget(None, "resp_1")
    assert code_of(memory, "resp_1") == "previous_response_not_found"


CALL = msgspec.to_builtins(FunctionCall(id="fc_1", status="completed", call_id="call_1", name="f", arguments="{}"))


@pytest.mark.parametrize(
    ("new", "param"),
    [
        ([{"type": "function_call_output", "call_id": "call_1", "output": "x"}], None),
        ([{"type": "custom_tool_call_output", "call_id": "call_1", "output": "x"}], None),
        ([{"type": "tool_search_output", "call_id": "call_9", "tools": []}], None),
        ([{"type": "function_call_output", "call_id": ["call_1"], "output": "x"}], None),
        ([{**CALL, "call_id": "call_2"}, {"type": "function_call_output", "call_id": "call_2", "output": "x"}], None),
        ([user("x"), {"type": "function_call_output", "call_id": "call_2", "output": "x"}], "input[1].call_id"),
        ([{"type": "shell_call_output", "call_id": "call_2", "output": []}], "input[0].call_id"),
        (["nonsense", 7, {"type": 1}], None),
    ],
)
def test_an_output_needs_its_call(new: list[Any], param: str | None) -> None:
    """What is malformed is left for those who read every input."""
    if param is None:
        assert continued_input([CALL], new) == [CALL, *new]
        return
    with pytest.raises(ProblemError) as refusal:
        continued_input([CALL], new)
    assert (refusal.value.problem.code, refusal.value.problem.param) == ("invalid_value", param)


def test_what_is_remembered_and_what_continues_it_hold_no_more_json_values_than_a_body() -> None:
    memory = ConversationMemory(ROOM, Share(Quota(ROOM, ROOM), Key("alice", b"k")), most_values=40)
    memory.keep(None, *conversation_of([user("one"), user("two")], completed_event("resp_1", "three")))
    remembered = memory.find("resp_1")
    assert len(memory.recall(remembered, b'{"a": [1, 2, 3]}')) == 3
    with pytest.raises(ProblemError) as caught:
        memory.recall(remembered, b"[" + b"1," * 40 + b"1]")
    assert (caught.value.problem.code, caught.value.problem.param) == ("invalid_value", "input")


def test_each_lane_has_a_last_response_which_every_lane_may_continue() -> None:
    quota = Quota(ROOM, ROOM)
    memory = remembering(ROOM, quota)
    for lane in (None, "a", "b"):
        memory.keep(lane, *conversation_of("Hello", completed_event(f"resp_{lane}", "one")))
    assert [code_of(memory, f"resp_{lane}") for lane in (None, "a", "b")] == [None] * 3
    memory.keep("a", *conversation_of("And?", completed_event("resp_c", "two")))
    assert [code_of(memory, name) for name in ("resp_a", "resp_c")] == ["previous_response_not_found", None]
    memory.forget("a", "resp_b")
    assert code_of(memory, "resp_b") is None
    memory.forget("b", "resp_b")
    assert code_of(memory, "resp_b") == "previous_response_not_found"
    memory.clear()
    assert quota._held == {}
