"""What a hostile server of chat completions may send: it is counted, and nothing is too deep to be read."""

from typing import Any, Final

import pytest

from app.dialects.chat.decode import ChunkReader
from app.emitter.deltas import Broke

Json = dict[str, Any]

LONG: Final = "x" * 10_000


def called(number: int, **fields: Any) -> Json:
    """The beginning of a call."""
    named = {"id": f"{number}", "name": f"f{number}"} | fields
    function = {"name": named["name"], "arguments": ""}
    return {"tool_calls": [{"index": number, "id": named["id"], "type": "function", "function": function}]}


def cites(number: int, **fields: Any) -> Json:
    """A citation as OpenAI sends it."""
    page = {"url": f"https://a.example/{number}", "title": "A", "start_index": 0, "end_index": 1, **fields}
    return {"annotations": [{"type": "url_citation", "url_citation": page}]}


def cites_as_claude(number: int, **fields: Any) -> Json:
    """A citation as litellm passes on Claude's."""
    return {"provider_specific_fields": {"citation": {"url": f"https://a.example/{number}", **fields}}}


DELTAS: Final = {
    "ids of calls": lambda number: called(number, id=f"{number}{LONG}"),
    "names of calls": lambda number: called(number, name=f"f{number}{LONG}"),
    "addresses": lambda number: cites(number, url=f"https://a.example/{number}{LONG}"),
    "titles": lambda number: cites(number, title=LONG),
    "titles of Claude": lambda number: cites_as_claude(number, title=LONG),
}


@pytest.mark.parametrize("delta", DELTAS.values(), ids=DELTAS)
def test_all_that_is_kept_of_an_answer_is_counted(delta: Any) -> None:
    reader = ChunkReader(keeps_state=True)
    for number in range(20):
        reader.read({"choices": [{"index": 0, "delta": {"content": "a", **delta(number)}}]})
    assert reader.size >= 20 * len(LONG)


@pytest.mark.parametrize("kind", ["arguments", "annotations"])
def test_deep_objects_fail_an_answer(kind: str) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    fragment = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": deep}}}
    delta = {"tool_calls": [fragment]} if kind == "arguments" else cites(0, more=deep)
    deltas = ChunkReader().read({"choices": [{"index": 0, "delta": delta}]})
    assert [type(each) for each in deltas] == [Broke]
