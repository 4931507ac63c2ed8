"""Provider state: which reasoning item carries it, and in which position."""

from typing import Any

import pytest

from app.emitter.deltas import CallArguments, CallOpened, Delta, ProviderStateAdded, ReasoningDelta, TextDelta
from tests.support.emitters import END, FORBIDDEN, LENGTH, calls, played, written
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

S, T = {"signature": "s"}, {"signature": "t"}


def reasoning(sealed: str, *texts: str) -> dict[str, Any]:
    """A reasoning item, by what it shows and what it carries."""
    return {"reasoning": list(texts), "sealed": sealed}


def output(events: list[dict[str, Any]]) -> list[Any]:
    """The output, each item by what matters here."""
    shown: list[Any] = []
    for item in events[-1]["response"]["output"]:
        match item["type"]:
            case "reasoning":
                texts = [part["text"] for part in item["summary"]]
                shown.append(reasoning(item["encrypted_content"], *texts) if "encrypted_content" in item else texts)
            case "message":
                shown.append(item["content"][0]["text"])
            case _:
                shown.append(item["call_id"])
    return shown


ANSWERS: dict[str, tuple[list[Delta], list[Any]]] = {
    "a thought carries what came with it": (
        [ReasoningDelta("h"), ReasoningDelta("m"), ProviderStateAdded(S), TextDelta("ok"), END],
        [reasoning(f"'hm' None:{S}", "hm"), "ok"],
    ),
    "a thought without anything kept is sealed all the same": (
        [ReasoningDelta("hm"), TextDelta("ok"), END],
        [reasoning("'hm'", "hm"), "ok"],
    ),
    "what came before a thought waits for it": (
        [ProviderStateAdded(S), ProviderStateAdded(T), ReasoningDelta("hm"), END],
        [reasoning(f"'hm' None:{S} None:{T}", "hm")],
    ),
    "what no thought carries gets an item before the text": (
        [ProviderStateAdded(S), TextDelta("ok"), END],
        [reasoning(f"'' None:{S}"), "ok"],
    ),
    "a call's stands before it": (
        [TextDelta("ok"), CallOpened(0, "f", "c", S), CallArguments(0, "{}"), END],
        ["ok", reasoning(f"'' c:{S}"), "c"],
    ),
    "a call's goes into the thought before it": (
        [ReasoningDelta("hm"), CallOpened(0, "f", "c", S), CallArguments(0, "{}"), END],
        [reasoning(f"'hm' c:{S}", "hm"), "c"],
    ),
    "an id that was made here is the one that is carried": (
        [CallOpened(0, "f", "", S), CallArguments(0, "{}"), END],
        [reasoning(f"'' call_AM-1:{S}"), "call_AM-1"],
    ),
    "each of two calls may have something": (
        [CallOpened(0, "f", "c", S), CallArguments(0, "{}"), CallOpened(1, "f", "d", T), CallArguments(1, "{}"), END],
        [reasoning(f"'' c:{S}"), "c", reasoning(f"'' d:{T}"), "d"],
    ),
    "what comes behind its call gets an item at the end": (
        [*calls(0, "f", "{}", call_id="c"), ProviderStateAdded(S, 0), ProviderStateAdded(T), END],
        ["c", reasoning(f"'' c:{S} None:{T}")],
    ),
    "a text is not parted": (
        [TextDelta("a"), ProviderStateAdded(S), TextDelta("b"), END],
        ["ab", reasoning(f"'' None:{S}")],
    ),
    "no state is kept of a call that was ruled out": (
        [CallOpened(0, FORBIDDEN, "c", S), ProviderStateAdded(T, 0), ProviderStateAdded(T, 7), TextDelta("ok"), END],
        ["ok"],
    ),
    "fields without anything are nothing": ([ProviderStateAdded({}), TextDelta("ok"), END], ["ok"]),
    "a thought that was cut carries what it has": (
        [ReasoningDelta("hm"), ProviderStateAdded(S), LENGTH],
        [reasoning(f"'hm' None:{S}", "hm")],
    ),
    "what still waits at a cut is forgotten": ([TextDelta("ok"), ProviderStateAdded(S), LENGTH], ["ok"]),
    "what still waits when it fails is forgotten": ([TextDelta("ok"), ProviderStateAdded(S)], ["ok"]),
}


@pytest.mark.parametrize("raw", [False, True], ids=["summary", "raw"])
@pytest.mark.parametrize("name", ANSWERS)
def test_provider_state_goes_into_a_reasoning_item(name: str, raw: bool) -> None:  # noqa: FBT001 — a parameter of pytest
    deltas, items = ANSWERS[name]
    events = played(*deltas, seal=written, raw_reasoning=raw)
    check(events)
    judge(events)
    if not raw:
        assert output(events) == items


def test_an_item_that_only_carries_state_is_finished_at_once() -> None:
    added, done = played(ProviderStateAdded(S), TextDelta("ok"), END, seal=written)[2:4]
    empty = {"type": "reasoning", "id": "rs_AM-1", "summary": []}
    assert (added["type"], added["item"]) == ("response.output_item.added", {**empty, "status": "in_progress"})
    carried = {**empty, "status": "completed", "encrypted_content": f"'' None:{S}"}
    assert (done["type"], done["item"]) == ("response.output_item.done", carried)


@pytest.mark.parametrize("name", ANSWERS)
def test_without_a_seal_no_state_is_carried(name: str) -> None:
    deltas, items = ANSWERS[name]
    events = played(*deltas)
    check(events)
    bare = [item["reasoning"] if isinstance(item, dict) else item for item in items]
    assert output(events) == [item for item in bare if item]
