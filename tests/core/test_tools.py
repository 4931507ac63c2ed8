"""One contract for all tool types: a tool is offered, called, cut, sent back and chosen. A type without a row fails.

A row of tools.jsonl is a tool, its function, a call as the model writes it and as the client reads it, an output, and
how it is told.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from app.emitter.deltas import CallArguments, CallOpened, Stopped
from app.emitter.emitter import Emitter
from app.emitter.response import Lifecycle
from app.tools.base import PastCall, PastOutput
from app.tools.json_string import JsonString, PatchReader
from app.tools.table import SHAPES, Tools
from app.types.json import encode
from app.types.parse import parse
from tests.wire.comparison import lines
from tests.wire.event_stream import judged

Json = dict[str, Any]
ROWS: Final = lines(Path(__file__).with_name("tools.jsonl"))
each = pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
OTHER: Final = {"type": "function", "name": "other"}


def tools_of(*tools: Json, items: Any = "Hi", choice: Any = "auto") -> tuple[Tools, Any]:
    """A turn's tools, and its request."""
    request, _ = parse({"model": "m", "input": items, "tools": list(tools), "tool_choice": choice}, SHAPES)
    return Tools(request), request


def called(row: Json, *pieces: str, stopped: Any = "end") -> Json:
    """The response of a call whose arguments arrive in these pieces, a sign of life behind each."""
    tools, request = tools_of(row["tool"])
    lifecycle = Lifecycle(request)
    emitter = Emitter(lifecycle, tools)
    events = lifecycle.begin() + emitter.feed([CallOpened(0, row["function"], "call_1")])
    for piece in pieces:
        events += emitter.feed([CallArguments(0, piece)]) + emitter.sign_of_life()
    events += emitter.feed([Stopped(stopped)] if stopped else []) + emitter.end()
    return judged([json.loads(encode(event)) for event in events])


def test_every_type_has_a_row() -> None:
    assert {row[key]["type"] for row in ROWS for key in ("call", "output")} == set(SHAPES.items)


@each
def test_a_call_becomes_its_item_wherever_it_is_cut_into_pieces(row: Json) -> None:
    for cut in range(1, len(row["arguments"])):
        (item,) = called(row, row["arguments"][:cut], row["arguments"][cut:])["output"]
        wanted = {**row["call"], "call_id": "call_1", "status": "completed"}
        assert {key: item[key] for key in wanted} == wanted


@each
@pytest.mark.parametrize(("stopped", "status"), [(None, "failed"), ("length", "incomplete")])
def test_a_call_that_ends_anywhere_is_never_run(row: Json, stopped: Any, status: str) -> None:
    for length in range(len(row["arguments"])):
        response = called(row, row["arguments"][:length], stopped=stopped)
        assert response["status"] == status
        assert "completed" not in [item["status"] for item in response["output"]]


@each
@pytest.mark.parametrize("declared", [True, False])
def test_a_past_call_and_its_output_are_those_of_the_function(row: Json, declared: bool) -> None:
    items = [{**row["call"], "call_id": "call_1"}, {**row["output"], "call_id": "call_1"}]
    tools, request = tools_of(*[row["tool"]] * declared, items=items)
    call, output = [tools.past(item) for item in request.items]
    assert isinstance(call, PastCall)
    assert call[:2] == ("call_1", row["function"])
    if declared:
        assert json.loads(call.arguments) == json.loads(row["arguments"])
    assert output == PastOutput("call_1", row["told"], row["failed"])


@each
def test_a_tool_is_one_function_of_an_object_and_can_be_demanded(row: Json) -> None:
    inner = row["tool"]["tools"][0] if "tools" in row["tool"] else row["tool"]
    chosen = {"type": inner["type"], "name": inner.get("name"), "namespace": row["call"].get("namespace")}
    tools, _ = tools_of(row["tool"], OTHER, choice=chosen)
    assert [spec.name for spec in tools.specs] == [row["function"], "other"]
    assert tools.specs[0].parameters is not None
    assert tools.specs[0].parameters["type"] == "object"
    assert (tools.choice.name, tools.allows("other"), tools.warnings) == (row["function"], False, [])


TEXTS: Final = lines(Path(__file__).with_name("tool_inputs.jsonl"))


@pytest.mark.parametrize(("kind", "written", "text"), [pytest.param(*row[1:], id=row[0]) for row in TEXTS])
def test_a_text_is_read_from_arguments_wherever_they_are_cut(kind: str, written: str, text: str) -> None:
    """`string`: the input of a custom tool; `patch`: that of Codex' `apply_patch`."""

    def read(*pieces: str) -> str:
        reader = JsonString("input") if kind == "string" else PatchReader()
        return "".join([reader.feed(piece) for piece in pieces]) + reader.rest()

    assert read(*written) == text
    assert {read(written[:cut], written[cut:]) for cut in range(len(written) + 1)} == {text}
