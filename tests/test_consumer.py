"""The reference consumer itself: it runs a call once, notices when it had to wait for it, and believes deltas only."""

import copy
from typing import Any

import pytest

from app.emitter.deltas import CallArguments, ReasoningDelta, RefusalTextDelta, TextDelta
from tests.support.emitters import END, LENGTH, calls, played
from tests.wire.consumer import check_consumed, consume
from tests.wire.faults import Break, both, change, change_in, drop, drop_last, repeat

STREAM = played(
    ReasoningDelta("hm"),
    TextDelta("Hi"),
    *calls(0, "f", '{"a":', call_id="c"),
    TextDelta("wait"),
    CallArguments(0, "1}"),
    *calls(1, "g", call_id="d"),
    RefusalTextDelta("no"),
    END,
)


def test_text_and_calls_come_out_in_the_order_they_were_opened() -> None:
    """Though the first call became whole only while later text was told."""
    consumed = check_consumed(STREAM)
    assert consumed.pieces == [
        ("thought", "hm"),
        ("text", "Hi"),
        ("call", "c", "f", '{"a":1}'),
        ("text", "wait"),
        ("call", "d", "g", "{}"),
        ("refusal", "no"),
    ]
    assert consumed.calls == [("c", "f", '{"a":1}'), ("d", "g", "{}")]
    assert consumed.fallbacks == 0


@pytest.mark.parametrize(
    ("faults", "fallbacks"),
    [
        (drop("function_call_arguments.done"), 1),
        (both(drop("function_call_arguments.done", 1), drop("function_call_arguments.done")), 2),
        (both(drop("function_call_arguments.done"), drop("output_item.done", 2)), 1),
    ],
    ids=["told by the done item", "both told by their done items", "told by the final output"],
)
def test_a_call_that_is_told_late_is_run_once_and_counted(faults: Break, fallbacks: int) -> None:
    """The second point is the done item, the third the final output."""
    stream: list[dict[str, Any]] = copy.deepcopy(STREAM)
    faults(stream)
    consumed = consume(stream)
    assert sorted(consumed.calls) == [("c", "f", '{"a":1}'), ("d", "g", "{}")]
    assert consumed.fallbacks == fallbacks
    with pytest.raises(AssertionError, match=r"later than by its arguments.done"):
        check_consumed(stream)


def test_a_call_that_is_told_twice_is_refused() -> None:
    """A client that believed it would run the tool twice."""
    stream = copy.deepcopy(STREAM)
    repeat("function_call_arguments.done")(stream)
    with pytest.raises(AssertionError, match="c was told twice"):
        check_consumed(stream)


def test_a_call_that_was_cut_is_never_run() -> None:
    """Neither from its done item nor from the final output."""
    consumed = check_consumed(played(TextDelta("Hi"), *calls(0, "f", '{"a', call_id="c"), LENGTH))
    assert consumed.calls == []
    assert consumed.pieces == [("text", "Hi")]


@pytest.mark.parametrize(
    "fault",
    [
        drop("output_text.delta"),
        change("function_call_arguments.delta", delta="{"),
        change("reasoning_summary_text.delta", delta="ah"),
        change_in("output_item.added", "item", 2, name="g"),
        drop_last,
    ],
    ids=["a delta is missing", "arguments differ", "thought differs", "name differs", "an item is missing"],
)
def test_deltas_that_tell_another_output_are_refused(fault: Break) -> None:
    """What was shown while it streamed and what is kept must be the same."""
    stream = copy.deepcopy(STREAM)
    fault(stream)
    with pytest.raises(AssertionError, match="another output"):
        check_consumed(stream)
