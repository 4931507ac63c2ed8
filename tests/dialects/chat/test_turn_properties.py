"""Whatever a chat server sends, in whatever order and pieces, the client is told a sound stream."""

from itertools import count
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check
from tests.wire.script import (
    breaks,
    calls,
    chunk,
    cites,
    counts,
    delta,
    fragment,
    more,
    refuses,
    says,
    stops,
    thinks,
)

REQUEST: dict[str, Any] = {
    "model": "demo",
    "input": "Hello",
    "tools": [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("f", "g", "h")],
    "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": name} for name in ("f", "g")]},
}
texts = st.sampled_from(
    ["", " ", "\n", "a", "<think>", "</think>", "<th", "ink>", "\ud83d", "\ude00", "\u2028", "{", "}", "{}", '{"a":1}']
)
indices = st.sampled_from([None, 0, 1, 2, True, "0", -1])
ids = st.sampled_from([None, "", "c", "d"])
names = st.sampled_from([None, "", "f", "g", "h", "unknown"])
junk: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, True, "x", [], {}, [None], ["x"], {"x": 1}, [[]], [{}], 1e300, 10**400]
)
fragments = st.builds(fragment, indices, ids, names, texts) | st.fixed_dictionaries(
    {},
    optional={"index": junk, "id": junk, "function": junk | st.fixed_dictionaries({"name": junk, "arguments": junk})},
)
logprobs = st.fixed_dictionaries(
    {
        "content": st.lists(
            st.fixed_dictionaries({}, optional={"token": texts, "logprob": junk, "bytes": junk}), max_size=2
        )
    }
)
chunks = st.one_of(
    st.builds(lambda text, given: says(text, logprobs=given), texts, logprobs),
    texts.map(thinks),
    texts.map(lambda text: thinks(text, field="reasoning")),
    texts.map(refuses),
    st.builds(
        lambda index, name, call_id: calls(index, name, id=call_id), st.integers(0, 2), st.sampled_from("fgh"), ids
    ),
    st.builds(more, st.integers(0, 2), texts),
    st.lists(fragments, max_size=3).map(lambda entries: delta(tool_calls=entries)),
    st.just(cites("https://a.example", "A", 0, 1)),
    st.sampled_from(["stop", "length", "content_filter", "tool_calls", "error", ""]).map(stops),
    st.just(counts(7, 5, cached=3, reasoning=2)),
    st.builds(breaks, code=junk | st.sampled_from([429, "context_length_exceeded"])),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("content", "refusal", "reasoning", "annotations", "tool_calls", "function_call"), junk),
    ).map(lambda fields: delta(**fields)),
    junk,
    junk.map(chunk),
    junk.map(lambda usage: chunk(usage=usage)),
)


@given(
    st.lists(chunks, max_size=12),
    st.sampled_from(["stop", "length", None]),
    st.builds(
        ChatOptions,
        model=st.builds(ModelOptions, think_tags=st.booleans(), reasoning=st.sampled_from(["summary", "text"])),
    ),
)
def test_any_chunks_make_a_sound_stream(sent: list[Any], reason: str | None, options: ChatOptions) -> None:
    """No chunk breaks the turn; every event can be written, judged and rebuilt; nothing forbidden is called."""
    numbers = count(2)
    turn = ChatTurn(
        parse_request(msgspec.json.encode(REQUEST)),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )
    events = turn.begin()
    for one in [*sent, *([stops(reason)] if reason else [])]:
        if not turn.over:
            events += turn.receive(one)
        if not turn.over:
            events += turn.keep_alive()
    if not turn.over:
        events += turn.end()
    result = [msgspec.json.decode(msgspec.json.encode(event)) for event in events]
    check(result)
    judge(result)
    assert {name for _, name, _ in check_consumed(result).calls} <= {"f", "g"}
