"""A turn's tools and what becomes of them: shared by the tests of bridges."""

from typing import Any

import msgspec
import pytest

from app.bridges.table import BridgeTable
from app.emitter.deltas import CallArguments, CallOpened, Delta, Stopped
from app.emitter.emitter import Emitter
from app.parsing.request_body import parse_request
from app.protocol.problems import ProblemError
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import InputItem
from app.protocol.response import Response
from tests.support.emitters import COMPLETED_AT, CREATED_AT, counted_ids, plain


def request_of(*tools: Any, items: Any = (), **fields: Any) -> CreateResponse:
    """A request with these tools and these items behind a user's word."""
    history = [{"role": "user", "content": "Hi"}, *items]
    return parse_request(msgspec.json.encode({"model": "m", "input": history, "tools": list(tools), **fields}))


def offered(*tools: Any, items: Any = (), web_search: bool = False, **fields: Any) -> BridgeTable:
    """The table of such a request."""
    request = request_of(*tools, items=items, **fields)
    return BridgeTable(
        request.tools,
        request.tool_choice,
        items=request.items,
        hosted=lambda kind: web_search and kind.startswith("web_search"),
    )


def refused(*tools: Any, items: Any = (), **fields: Any) -> tuple[str, str]:
    """Code and path of the problem with such a request."""
    with pytest.raises(ProblemError) as raised:
        offered(*tools, items=items, **fields)
    return raised.value.problem.code, raised.value.problem.param


def parsed(item: Any) -> InputItem:
    """One item as a client posts it."""
    return request_of(items=[item]).items[1]


def names(table: BridgeTable) -> list[str]:
    """What the model can call."""
    return [spec.name for spec in table.specs]


def played(table: BridgeTable, *deltas: Delta) -> list[dict[str, Any]]:
    """The whole stream of a model that says this and then falls silent, a sign of life behind every word."""
    emitter = Emitter(
        Response(id="resp_AM-1", created_at=CREATED_AT, model="demo"),
        tools=table,
        new_id=counted_ids(),
        now=lambda: COMPLETED_AT,
    )
    events = emitter.begin()
    for delta in deltas:
        if not emitter.over:
            events += emitter.feed([delta])
        if not emitter.over:
            events += emitter.keep_alive()
    if not emitter.over:
        events += emitter.end()
    return plain(events)


def called(table: BridgeTable, name: str, *arguments: str, stopped: Stopped | None = None) -> list[dict[str, Any]]:
    """The stream of one call; without `stopped` the upstream was cut."""
    items: list[Delta] = [CallOpened(0, name, "call_1"), *[CallArguments(0, text) for text in arguments]]
    return played(table, *items, *([stopped] if stopped else []))
