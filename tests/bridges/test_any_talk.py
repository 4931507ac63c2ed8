"""Whatever a model does with every kind of tool at once, the stream that tells it is sound."""

from hypothesis import given
from hypothesis import strategies as st

from app.emitter.deltas import CallArguments, CallOpened, Delta, ReasoningDelta, Stopped, TextDelta
from tests.support.bridge_cases import CASES, tool_of
from tests.support.tool_tables import names, offered, played
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

TABLE = offered(*{case.function: tool_of(case) for case in CASES.values() if case.within != "X"}.values())
"""One of each kind, the function being of a list."""

keys = st.integers(0, 3)
texts = st.sampled_from(
    ["", " ", "{", "}", '{"input":"', "a", '"}', '{"commands":["ls"]}', '{"path":"a"', '{"value":1}']
)
calls = st.builds(CallOpened, keys, st.sampled_from([*names(TABLE), "unknown"]), st.sampled_from(["", "c", "d"]))
talk: st.SearchStrategy[Delta] = st.one_of(
    calls, calls, st.builds(CallArguments, keys, texts), texts.map(TextDelta), texts.map(ReasoningDelta)
)
endings = st.sampled_from([Stopped("end"), Stopped("length"), Stopped("content_filter"), None])


@given(st.lists(talk, max_size=12), endings)
def test_every_stream_obeys_the_grammar_and_pleases_judges_and_consumer(
    deltas: list[Delta], ending: Stopped | None
) -> None:
    """In any order, side by side, cut anywhere, with signs of life in between."""
    events = played(TABLE, *deltas, *([ending] if ending else []))
    check(events)
    judge(events)
    check_consumed(events)
