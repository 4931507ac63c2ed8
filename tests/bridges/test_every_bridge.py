"""One contract for all bridges: a tool is declared, called, sent back and cut. A bridge without a case is a failure."""

from typing import Any

import msgspec
import pytest

from app.bridges.base import PastOutput
from app.bridges.registry import BRIDGES
from app.emitter.deltas import Stopped
from tests.support.bridge_cases import CASES, Case, tool_of
from tests.support.tool_tables import called, names, offered, parsed
from tests.support.warning_sentences import sentences
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
END = Stopped("end")


def past_call(case: Case) -> dict[str, Any]:
    """The call as the client sends it back."""
    return {"id": "x_1", "call_id": "call_1", "status": "completed", **case.item}


def test_every_bridge_has_a_case() -> None:
    """Whoever adds a bridge adds its case."""
    kinds = {case.tool["type"] for case in CASES.values()}
    assert kinds == set(BRIDGES.by_tool)
    assert {case.item["type"] for case in CASES.values()} == set(BRIDGES.by_call)
    assert {case.output["type"] for case in CASES.values()} == set(BRIDGES.by_output)


@each_case
def test_a_tool_is_declared_as_one_function_of_an_object(case: Case) -> None:
    """Nothing is left out, and a strict chat server takes it."""
    table = offered(tool_of(case))
    assert sentences(table.warnings) == []
    assert names(table) == [case.function]
    parameters = table.specs[0].parameters
    assert parameters is not None
    assert parameters["type"] == "object"


@each_case
def test_a_call_of_its_function_becomes_its_item(case: Case) -> None:
    """With an id of its own kind and the call id of the upstream, sound in every judge's eyes."""
    events = called(offered(tool_of(case)), case.function, *case.arguments, stopped=END)
    check(events)
    judge(events)
    consumed = check_consumed(events)
    judge_response(consumed.response)
    item = consumed.response["output"][0]
    shown = {key: value for key, value in item.items() if key not in {"id", "call_id", "status"}}
    assert shown == case.item
    assert (item["call_id"], item["status"]) == ("call_1", "completed")
    assert len(consumed.calls) == 1


@each_case
def test_a_past_call_is_sent_back_as_the_model_would_write_it_and_understood_again(case: Case) -> None:
    """By the name of its function, whether the tool is still declared or not."""
    item = parsed(past_call(case))
    for table in (offered(tool_of(case)), offered()):
        past = table.read_call(item)
        assert past is not None
        assert (past.call_id, past.name) == ("call_1", case.function)
        again = check_consumed(called(table, past.name, past.arguments, stopped=END)).response["output"][0]
        assert {key: again[key] for key in case.item} == case.item


@each_case
def test_a_past_output_is_sent_back(case: Case) -> None:
    """As text that a model can read."""
    output = parsed({"call_id": "call_1", **case.output})
    assert offered(tool_of(case)).read_output(output) == PastOutput("call_1", case.output_text, case.output_failed)


@each_case
@pytest.mark.parametrize("stopped", [None, Stopped("length")], ids=["cut", "at its limit"])
def test_a_call_that_is_cut_anywhere_is_never_told_as_whole(case: Case, stopped: Stopped | None) -> None:
    """It must not be run, and its events obey the rules."""
    table = offered(tool_of(case))
    for length in range(len(case.arguments)):
        events = called(table, case.function, case.arguments[:length], stopped=stopped)
        check(events)
        judge(events)
        consumed = check_consumed(events)
        assert consumed.calls == []
        assert consumed.response["status"] == ("incomplete" if stopped else "failed")


@each_case
def test_where_the_arguments_are_cut_into_pieces_changes_nothing(case: Case) -> None:
    """Whole, or in two pieces cut at any place."""
    table = offered(tool_of(case))
    whole = called(table, case.function, case.arguments, stopped=END)[-1]["response"]["output"]
    for cut in range(1, len(case.arguments)):
        pieces = case.arguments[:cut], case.arguments[cut:]
        assert called(table, case.function, *pieces, stopped=END)[-1]["response"]["output"] == whole


@each_case
@pytest.mark.parametrize("written", ["", "{}", "[]", "null", "nothing of the kind", '{"a":1}', '{"path":5'])
def test_whatever_a_model_writes_is_told_and_can_be_sent_back(case: Case, written: str) -> None:
    """Arguments that make no sense reach the client, whose answer tells the model so."""
    table = offered(tool_of(case))
    events = called(table, case.function, written, stopped=END)
    check(events)
    judge(events)
    item = check_consumed(events).response["output"][0]
    assert item["status"] == "completed"
    past = table.read_call(parsed(item))
    assert past is not None
    assert past.name == case.function
    if written not in {"", "{}"}:
        assert written in str(item) or msgspec.json.decode(written) == item["arguments"]


@each_case
def test_a_tool_can_be_chosen_and_allowed(case: Case) -> None:
    """By its type, and by its name where it has one; then it must, or may alone, be called."""
    chosen = {"type": case.tool["type"]}
    if "name" in case.tool:
        chosen |= {"name": case.tool["name"]}
    if case.within:
        chosen |= {"namespace": case.within}
    other = {"type": "function", "name": "other"}
    assert offered(tool_of(case), other, tool_choice=chosen).choice == ("required", case.function)
    allowed = offered(tool_of(case), other, tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [chosen]})
    assert [allowed.allows(name) for name in (case.function, "other")] == [True, False]
    assert names(allowed) == [case.function, "other"]
