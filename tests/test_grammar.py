"""The checker itself: it refuses every kind of broken stream, each for its own reason."""

import copy

import pytest

from app.emitter.deltas import (
    Broke,
    CallArguments,
    ProviderStateAdded,
    TextDelta,
)
from app.protocol.problems import Problem
from tests.support.emitters import COUNTED, END, calls, played, written
from tests.support.sound_streams import CUT, PROSE
from tests.wire.faults import (
    Break,
    Stream,
    both,
    change,
    change_in,
    drop,
    drop_last,
    in_output,
    in_silence,
    move,
    repeat,
    without_arguments,
)
from tests.wire.grammar import check

CALLS = played(
    TextDelta("Hi"),
    *calls(0, "f", '{"a":', call_id="c"),
    *calls(1, "g", "{}", call_id="d"),
    CallArguments(0, "1}"),
    COUNTED,
    END,
)
CARRIED = played(ProviderStateAdded({"signature": "s"}), TextDelta("Hi"), COUNTED, END, seal=written)
FAILED = played(
    *calls(0, "f", "{", call_id="c"), TextDelta("Hi"), Broke(Problem(code="upstream_error", message="Gone."))
)


BROKEN: list[tuple[str, Stream, Break]] = [
    ("a stream has at least", PROSE, lambda stream: stream.__delitem__(slice(2, None))),
    ("a stream ends with", PROSE, lambda stream: stream.pop()),
    ("nothing follows the last event", PROSE, repeat("completed")),
    ("'response.odd' is an event clients know", PROSE, change("output_text.delta", type="response.odd")),
    ("None is an event clients know", PROSE, drop("output_text.delta", key="type")),
    ("sequence_number is an integer", PROSE, drop("output_text.delta", key="sequence_number")),
    ("sequence numbers count from 0", PROSE, change("created", sequence_number=1)),
    ("carries a proper logprobs", PROSE, drop("output_text.delta", key="logprobs")),
    ("carries a proper delta", PROSE, change("output_text.delta", delta=None)),
    ("carries a proper output_index", PROSE, change("output_text.delta", output_index=True)),
    ("carries a proper content_index", PROSE, drop("output_text.done", key="content_index")),
    ("carries a proper summary_index", PROSE, drop("reasoning_summary_text.delta", key="summary_index")),
    ("carries a proper item_id", PROSE, drop("content_part.done", key="item_id")),
    ("carries a proper part", PROSE, change("content_part.added", part=None)),
    ("carries a proper item", PROSE, change("output_item.added", item=None)),
    ("carries a proper response", PROSE, change("completed", response=None)),
    ("carries a proper annotation_index", PROSE, drop("output_text.annotation.added", key="annotation_index")),
    ("carries a proper arguments", CALLS, change("function_call_arguments.done", arguments={})),
    ("created comes first", PROSE, drop("created")),
    ("created and in_progress come first", PROSE, drop("in_progress")),
    ("a response carries a proper usage", PROSE, change_in("completed", "response", usage={})),
    ("id of the response never changes", PROSE, change_in("completed", "response", id="resp_AM-2")),
    ("created_at of the response never changes", PROSE, change_in("in_progress", "response", created_at=5)),
    ("model of the response never changes", PROSE, change_in("completed", "response", model="other")),
    ("a response's output equals the done items", PROSE, change_in("completed", "response", output=[])),
    ("the last event and response.status agree", CUT, change("incomplete", type="response.completed")),
    ("nothing is open at the end", CALLS, both(drop("output_item.done", 2), drop_last)),
    ("an incomplete item makes the response incomplete", PROSE, in_output(1, status="incomplete")),
    ("nothing but the last event follows an incomplete item", PROSE, in_output(0, status="incomplete")),
    ("'odd' is an item clients know", PROSE, change_in("output_item.added", "item", type="odd")),
    ("white space alone opens nothing", PROSE, in_silence),
    ("a call without arguments is {}", CALLS, without_arguments),
    ("an item carries a proper role", PROSE, change_in("output_item.added", "item", 1, role="user")),
    ("an item carries a proper content", PROSE, change_in("output_item.added", "item", 1, content=None)),
    ("an item carries a proper summary", PROSE, change_in("output_item.added", "item", 0, summary=None)),
    ("an item carries a proper call_id", CALLS, change_in("output_item.added", "item", 1, call_id="")),
    ("an item carries a proper arguments", CALLS, in_output(1, arguments={"a": 1})),
    ("encrypted_content is absent", PROSE, change_in("output_item.added", "item", 0, encrypted_content=None)),
    ("what an item carries sealed", PROSE, change_in("output_item.done", "item", 0, encrypted_content="")),
    ("phase is absent", PROSE, change_in("output_item.added", "item", 1, phase=None)),
    ("ids have our prefixes", PROSE, change_in("output_item.added", "item", 0, id="msg_AM-1")),
    ("a new item takes the next seat", PROSE, change("output_item.added", 1, output_index=0)),
    ("no item id is used twice", CALLS, change_in("output_item.added", "item", 2, id="fc_AM-2")),
    ("an added item is in_progress", PROSE, change_in("output_item.added", "item", status="completed")),
    ("an added item carries empty values", CALLS, change_in("output_item.added", "item", 1, arguments="{}")),
    ("prose is closed before anything else", PROSE, move("output_item.added", 1, "output_item.done", 0)),
    ("no two calls share a call id", CALLS, change_in("output_item.added", "item", 2, call_id="c")),
    ("output_text.delta is about an item that is open", PROSE, change("output_text.delta", output_index=0)),
    ("output_item.done is about an item that is open", PROSE, repeat("output_item.done")),
    ("the type of an item never changes", PROSE, change_in("output_item.done", "item", type="message")),
    ("the id of an item never changes", CALLS, change_in("output_item.done", "item", 1, id="fc_AM-99")),
    ("call_id of an item never changes", CALLS, change_in("output_item.done", "item", 1, call_id="other")),
    ("name of an item never changes", CALLS, change_in("output_item.done", "item", 1, name="other")),
    ("a done item is completed or incomplete", PROSE, change_in("output_item.done", "item", status="in_progress")),
    ("an item is done only when its parts are", PROSE, drop("content_part.done", 1)),
    ("content of a done item equals its done parts", PROSE, change_in("output_item.done", "item", 1, content=[])),
    ("summary of a done item equals its done parts", PROSE, change_in("output_item.done", "item", 0, summary=[])),
    ("arguments of a done call equal", CALLS, change_in("output_item.done", "item", 1, arguments="{}")),
    ("function_call_arguments.done comes before", CALLS, drop("function_call_arguments.done")),
    ("item_id and output_index name the same", CALLS, change("function_call_arguments.delta", item_id="fc_AM-3")),
    ("an event fits the type of its item", PROSE, change("output_text.delta", type="response.reasoning_text.delta")),
    ("nothing follows response.function_call_arguments.done", CALLS, repeat("function_call_arguments.done")),
    ("arguments.done equals the joined deltas", CALLS, change("function_call_arguments.done", arguments="{}")),
    ("arguments.done carries the name", CALLS, change("function_call_arguments.done", name="g")),
    ("output_text.delta is about a part that is open", PROSE, drop("content_part.added")),
    ("content_part.done is about a part that is open", PROSE, repeat("content_part.done")),
    ("nothing follows the done text", PROSE, repeat("output_text.done")),
    ("an event names the part that is open", PROSE, change("refusal.delta", content_index=0)),
    ("annotations are numbered in order", PROSE, change("output_text.annotation.added", annotation_index=1)),
    ("the done text equals the joined deltas", PROSE, change("output_text.done", text="Hi?")),
    ("the done log probabilities equal", PROSE, change("output_text.done", logprobs=[])),
    ("a part fits the type of its item", PROSE, change_in("content_part.added", "part", type="reasoning_text")),
    ("an added part carries empty values", PROSE, change_in("content_part.added", "part", text="Hi")),
    ("one part is done before the next", PROSE, move("content_part.added", 1, "content_part.done")),
    ("parts are numbered in order", PROSE, change("content_part.added", 1, content_index=0)),
    ("the text of a part is done before", PROSE, drop("output_text.done")),
    ("a done part equals what was said", PROSE, change_in("content_part.done", "part", text="Hi?")),
]


@pytest.mark.parametrize(("rule", "stream", "break_it"), BROKEN, ids=[f"{n} {row[0]}" for n, row in enumerate(BROKEN)])
def test_a_broken_stream_is_refused_for_its_own_reason(rule: str, stream: Stream, break_it: Break) -> None:
    """One fault each; the rule that is named is the one that was broken."""
    broken = copy.deepcopy(stream)
    break_it(broken)
    with pytest.raises(AssertionError) as refused:
        check(broken)
    assert rule in str(refused.value)


@pytest.mark.parametrize("stream", [PROSE, CALLS, CUT, FAILED])
def test_a_sound_stream_is_accepted(stream: Stream) -> None:
    """The streams that are broken above are sound before."""
    check(stream)
