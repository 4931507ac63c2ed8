"""A relayed answer ends by the emitter's table: what becomes of items that the upstream left open, cell by cell."""

import pytest

from app.dialects.responses.endings import REASONS, Status
from app.emitter.for_codex import client_rules
from app.emitter.rules import CUT, ItemKind
from app.protocol.problems import Problem
from tests.support.relay_turns import Json, client_events, new_turn, plain
from tests.wire.grammar import check
from tests.wire.servers.responses import begins, call, ends, hosted, items, message, reasoning

OPEN: dict[str, tuple[ItemKind, list[Json]]] = {
    "a message": (ItemKind.MESSAGE, items(message("msg_1", "Hi"))[:-3]),
    "reasoning": (ItemKind.REASONING, items(reasoning("rs_1", "hm"))[:-3]),
    "a call whose end was not sent": (ItemKind.NOT_ENDED, items(call("fc_1", "call_1", "f", "{}"))[:-2]),
    "a call of a hosted tool": (ItemKind.NOT_ENDED, items(hosted("web_search_call", "ws_1", "searching"))[:-1]),
    "a call that ended and may be cut": (ItemKind.NEWEST_CALL, items(call("fc_1", "call_1", "f", '{"a'))),
}
"""Items that are open, and the events before the answer's end."""


@pytest.mark.parametrize("for_codex", [True, False], ids=["codex", "others"])
@pytest.mark.parametrize("status", [*REASONS, "cut off"])
@pytest.mark.parametrize(("kind", "before"), OPEN.values(), ids=OPEN.keys())
def test_what_is_open_ends_as_the_table_says(
    kind: ItemKind, before: list[Json], status: Status, *, for_codex: bool
) -> None:
    rule = client_rules(for_codex=for_codex).endings[REASONS.get(status, "failure")]
    outcome = rule.items[kind]
    turn = new_turn(for_codex=for_codex)
    if status in REASONS:
        error = {"code": "server_error", "message": "It broke."} if status == "failed" else None
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        last = ends(status=status, error=error, incomplete_details=details)
        events = client_events(turn, [*begins(), *before, last])
    else:
        events = client_events(turn, [*begins(), *before]) + plain(turn.fail(CUT))
    if kind is not ItemKind.NOT_ENDED:  # the stream stays without the end that the upstream did not send
        check(events, completed_may_be_incomplete=for_codex)
    done = [event["item"]["status"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["status"] for item in events[-1]["response"]["output"]] == done
    if isinstance(outcome, Problem):
        assert (done, events[-1]["type"], turn.problem) == ([], "response.failed", outcome)
    else:
        assert done == ([] if outcome == "dropped" else [outcome])
        assert (events[-1]["type"], events[-1]["response"]["status"]) == (rule.event_name, rule.status)
