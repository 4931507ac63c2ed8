"""What a hostile server of the Messages API may send: all of it is counted, and nothing is too deep to be read."""

from typing import Any, Final

import pytest

from app.dialects.messages.message_reader import MessageReader
from tests.support.messages_requests import answered
from tests.wire.servers.anthropic import begins, block, ends, text, thinking, tool_use

Json = dict[str, Any]

LONG: Final = "x" * 10_000
CITED: Final = {"type": "web_search_result_location", "url": f"https://a.example/{LONG}", "title": LONG}

CITES: Final = block(0, "text", {"type": "citations_delta", "citation": CITED})[1]
STARTS: Final[dict[str, Json]] = {
    "text": block(0, "text", text=LONG)[0],
    "citations": block(0, "text", text="", citations=[CITED])[0],
    "reasoning": block(0, "thinking", thinking=LONG, signature="")[0],
    "signature": block(0, "thinking", thinking="", signature=LONG)[0],
    "hidden reasoning": block(0, "redacted_thinking", data=LONG)[0],
    "arguments": block(0, "tool_use", id="t1", name="f", input={"a": LONG})[0],
    "id of a call": block(0, "tool_use", id=LONG, name="f", input={})[0],
    "name of a call": block(0, "tool_use", id="t1", name=LONG, input={})[0],
    "query": block(0, "server_tool_use", id="s1", name="web_search", input={"query": LONG})[0],
    "id of a search": block(0, "server_tool_use", id=LONG, name="web_search", input={})[0],
}


@pytest.mark.parametrize("event", STARTS.values(), ids=STARTS)
def test_all_that_a_block_begins_with_is_counted(event: Json) -> None:
    reader = MessageReader(keeps_state=True)
    for index in range(20):
        reader.read({**event, "index": index})
    while_open = reader.size
    reader.read({"type": "message_stop"})
    assert 20 * len(LONG) <= while_open <= reader.size


def test_citations_are_counted() -> None:
    reader = MessageReader(keeps_state=True)
    reader.read(text(0, "Hi")[0])
    for _ in range(20):
        reader.read(CITES)
    assert reader.size >= 20 * len(LONG)


def test_what_is_counted_is_what_was_written() -> None:
    reader = MessageReader(keeps_state=True)
    for event in [*thinking(0, "abc", signature="de"), *text(1, "fg"), *tool_use(2, "h", "i", "{}")]:
        reader.read(event)
    reader.read(block(3, "tool_use", id="j", name="k", input={"l": 1})[0])
    assert reader.written == len("abcfg{}")
    reader.read({"type": "message_stop"})
    assert reader.written == len('abcfg{}{"l":1}')


@pytest.mark.parametrize("levels", [100, 480, 900])
@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use", "web_search_tool_result"])
def test_deep_objects_fail_an_answer_at_most(kind: str, levels: int) -> None:
    deep: Any = []
    for _ in range(levels):
        deep = [deep]
    search = block(0, "server_tool_use", id="s1", name="web_search", input={})
    nested = block(1, kind, id="s2", tool_use_id="s1", name="web_search", input={"a": deep}, content=deep)
    ended = answered([*begins(), *search, *nested, *ends()])
    assert ended["status"] == ("completed" if levels == 100 else "failed")
