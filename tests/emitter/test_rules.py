"""Both tables of the emitter, cell by cell: what a new item closes, and what becomes of open items at the end."""

from typing import Any, get_args

import pytest

from app.compaction.remaining_history import Compaction
from app.emitter.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    CallOpened,
    Delta,
    ImageWritten,
    ItemWritten,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    SearchMade,
    Stopped,
    TextDelta,
    ThoughtEnded,
    UsageReported,
)
from app.emitter.for_codex import CODEX, ENDINGS_FOR_CODEX
from app.emitter.ledger import Ledger, MisuseError
from app.emitter.open_items import OpenItem
from app.emitter.rules import (
    ANY_CLIENT,
    CLOSES,
    CUT_IN_A_CALL,
    CUT_IN_SEVERAL_CALLS,
    ENDINGS,
    EndingRule,
    ItemKind,
    Reason,
)
from app.protocol.events import Event
from app.protocol.output_items import OutputItem
from app.protocol.problems import Problem
from tests.support.emitters import USAGE, calls, new_emitter, plain
from tests.wire.grammar import check

Json = dict[str, Any]

MESSAGE, REASONING, WHOLE, NEWEST, EARLIER, NOT_ENDED = ItemKind
"""In the order of the columns below."""
TOO_LONG = Problem(code="context_length_exceeded", message="The input is longer than the model can read.")

OPEN: dict[ItemKind, list[Delta]] = {
    MESSAGE: [TextDelta("Hi")],
    REASONING: [ReasoningDelta("hm")],
    WHOLE: calls(0, "f", "{}"),
    NEWEST: calls(0, "f", '{"a'),
    EARLIER: [*calls(0, "f", '{"a'), *calls(1, "f", "{}")],
}
"""The deltas after which the item at position 0 is open and of this kind."""

BEHIND: dict[type[Delta], Delta] = {
    TextDelta: TextDelta("ok"),
    RefusalTextDelta: RefusalTextDelta("no"),
    AnnotationAdded: AnnotationAdded({"type": "url_citation", "url": "https://a.example", "title": "A"}),
    ReasoningDelta: ReasoningDelta("so"),
    ThoughtEnded: ThoughtEnded(),
    CallOpened: CallOpened(7, "f"),
    ImageWritten: ImageWritten("aGk=", "png"),
    SearchMade: SearchMade("who", ("https://a.example",)),
    ItemWritten: ItemWritten("cmp", Compaction(id=""), Compaction(id="", encrypted_content="AM1.sealed")),
    CallArguments: CallArguments(0, " "),
    ProviderStateAdded: ProviderStateAdded({"signature": "s"}),
    UsageReported: UsageReported(USAGE),
    Stopped: Stopped("end"),
}
"""The next delta: one of every kind but the one that ends the answer."""

X, o = "closed", "open"

EXPECTED: dict[type[Delta], tuple[str, str, str, str, str]] = {
    # what is open:  message  reasoning  whole call  newest call  earlier call
    TextDelta: (o, X, X, o, o),
    RefusalTextDelta: (o, X, X, o, o),
    AnnotationAdded: (o, X, X, o, o),
    ReasoningDelta: (X, o, X, o, o),
    ThoughtEnded: (X, X, X, o, o),
    CallOpened: (X, X, X, o, o),
    ImageWritten: (X, X, X, o, o),
    SearchMade: (X, X, X, o, o),
    ItemWritten: (X, X, X, o, o),
    CallArguments: (o, o, o, o, o),
    ProviderStateAdded: (o, o, o, o, o),
    UsageReported: (o, o, o, o, o),
    Stopped: (o, o, o, o, o),
}

CELLS = [(delta, kind, state) for delta, row in EXPECTED.items() for kind, state in zip(OPEN, row, strict=True)]


def done(events: list[Json]) -> dict[int, str]:
    """The status of each item that is done, by its position."""
    return {
        event["output_index"]: event["item"]["status"]
        for event in events
        if event["type"] == "response.output_item.done" and "status" in event["item"]
    }


def test_the_tables_have_a_row_for_every_delta_and_every_reason() -> None:
    assert {*EXPECTED, Broke} == set(get_args(Delta))
    assert set(CLOSES) == {delta for delta, row in EXPECTED.items() if X in row}
    assert list(ENDINGS) == list(ENDINGS_FOR_CODEX) == list(get_args(Reason)) == list(dict.fromkeys(ENDED))
    assert all(set(rule.items) == set(ItemKind) for rule in (*ENDINGS.values(), *ENDINGS_FOR_CODEX.values()))


@pytest.mark.parametrize(("delta", "kind", "state"), CELLS, ids=[f"{cell[0].__name__}-{cell[1]}" for cell in CELLS])
def test_a_delta_closes_what_the_table_says(delta: type[Delta], kind: ItemKind, state: str) -> None:
    """The table is what is expected, and the emitter does what the table says."""
    assert (kind in CLOSES.get(delta, ())) is (state == X)
    before = calls(0, "f", "{") if kind in {MESSAGE, REASONING} else []
    position = 1 if before else 0
    emitter = new_emitter()
    events = [*emitter.begin(), *emitter.feed([*before, *OPEN[kind]])]
    assert position not in done(plain(events))
    events += emitter.feed([BEHIND[delta]])
    assert done(plain(events)).get(position, o) == ("completed" if state == X else o)
    check(plain([*events, *emitter.feed([Stopped("end")]), *emitter.end()]))


def test_the_end_of_a_thought_ends_its_item() -> None:
    """Each with its own state, in its own place. A thought of which nothing is shown separates what is around it."""
    emitter = new_emitter(seal=lambda text, pieces: f"{text}: {[piece.fields for piece in pieces]}")
    events = emitter.begin()
    for number in (1, 2):
        events += emitter.feed([ReasoningDelta("hm"), ProviderStateAdded({"n": number}), ThoughtEnded()])
    events += emitter.feed([TextDelta("Hi"), ThoughtEnded(), TextDelta("!")])
    events += emitter.feed([ProviderStateAdded({"n": 3}), ThoughtEnded(), TextDelta("Bye"), Stopped("end")])
    output = plain([*events, *emitter.end()])[-1]["response"]["output"]
    assert [item.get("encrypted_content") or item["content"][0]["text"] for item in output] == [
        "hm: [{'n': 1}]",
        "hm: [{'n': 2}]",
        "Hi",
        "!",
        ": [{'n': 3}]",
        "Bye",
    ]


FAILS, AGAIN = CUT_IN_A_CALL, CUT_IN_SEVERAL_CALLS
YES, PART, GONE = "completed", "incomplete", "dropped"
Row = tuple[str, str, tuple[str | Problem, ...]]

ENDED: dict[Reason, Row] = {
    # last event and status, then the item:  message  reasoning  whole call  newest  earlier  not ended
    "end": ("response.completed", YES, (YES, YES, YES, YES, YES, GONE)),
    "length": ("response.incomplete", PART, (PART, PART, YES, PART, AGAIN, GONE)),
    "content_filter": ("response.incomplete", PART, (PART, PART, YES, PART, AGAIN, GONE)),
    "failure": ("response.failed", "failed", (PART, PART, GONE, GONE, GONE, GONE)),
    "interrupted": ("response.incomplete", PART, (GONE, GONE, GONE, GONE, GONE, GONE)),
    "cancelled": ("response.incomplete", PART, (PART, PART, GONE, GONE, GONE, GONE)),
}
ENDED_FOR_CODEX: dict[Reason, Row] = ENDED | {
    "length": ("response.completed", PART, (PART, PART, YES, FAILS, AGAIN, GONE)),
    "content_filter": ("response.completed", PART, (PART, PART, YES, FAILS, AGAIN, GONE)),
}
END_CELLS = [
    (for_codex, reason, kind)
    for for_codex, table in ((False, ENDED), (True, ENDED_FOR_CODEX))
    for reason in table
    for kind in ItemKind
]


@pytest.mark.parametrize(("for_codex", "reason", "kind"), END_CELLS)
def test_an_answer_ends_as_the_table_says(reason: Reason, kind: ItemKind, *, for_codex: bool) -> None:
    """The table is what is expected, and the emitter does what the table says."""
    event, status, row = (ENDED_FOR_CODEX if for_codex else ENDED)[reason]
    outcome = dict(zip(ItemKind, row, strict=True))[kind]
    rule: EndingRule = (CODEX if for_codex else ANY_CLIENT).endings[reason]
    assert (rule.event_name, rule.status, rule.items[kind]) == (event, status, outcome)
    if kind is NOT_ENDED:
        return  # only in relayed answers: tests/dialects/responses
    emitter = new_emitter(for_codex=for_codex)
    events = [*emitter.begin(), *emitter.feed(OPEN[kind])]
    match reason:
        case "failure":
            events += emitter.feed([Broke(TOO_LONG)])
        case "end" | "length" | "content_filter":
            events += emitter.feed([Stopped(reason)])
        case "interrupted" | "cancelled":
            events += emitter.stop(reason)
    events += [] if emitter.over else emitter.end()
    sent = plain(events)
    check(sent, completed_may_be_incomplete=for_codex)
    failed = isinstance(outcome, Problem)
    assert (sent[-1]["type"], sent[-1]["response"]["status"]) == (
        ("response.failed", "failed") if failed else (event, status)
    )
    assert done(sent).get(0, GONE) == (GONE if failed else outcome)
    expected = outcome if failed else TOO_LONG if reason == "failure" else None
    assert emitter.problem == expected


def test_a_problem_among_the_outcomes_is_no_ending() -> None:
    """Such an answer ends as a failure: the ledger does not choose which of the two to follow."""
    ledger: Ledger[OpenItem, OutputItem, Event] = Ledger()
    with pytest.raises(MisuseError):
        ledger.end({0: CUT_IN_A_CALL})
