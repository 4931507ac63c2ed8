"""A turn is noted whatever a client sent, or a server answered: a request that is refused is shown as well."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.json_text import json_bytes
from app.observers.shared_parts import SharedParts, data_of
from app.observers.turn_contents import answer_contents, requested_contents
from app.protocol.events import Ending, RelayedLast

NAMES = ["type", "role", "content", "output", "text", "name", "call_id", "input", "tools", "summary", "arguments"]
WORDS = ["message", "function_call", "function_call_output", "reasoning", "compaction", "input_text", "output_text"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=25,
)


KIND = st.sampled_from(WORDS) | ANY_JSON
PARTS = st.lists(st.fixed_dictionaries({"type": KIND}, optional={"text": ANY_JSON}) | ANY_JSON, max_size=2)
ITEM = st.fixed_dictionaries({}, optional={"type": KIND, "content": PARTS, "output": PARTS, "call_id": ANY_JSON})
INPUT = st.lists(ITEM | ANY_JSON, max_size=3) | ANY_JSON


@given(INPUT)
def test_a_request_of_any_shape_is_noted_as_it_is(value: object) -> None:
    raw = {"model": "m", "input": value, "tools": value, "instructions": value}
    noted = requested_contents(raw, 0, SharedParts())
    assert json.loads(data_of(noted.pieces)) == {"request": raw}


@given(INPUT)
def test_an_answer_of_any_shape_is_noted(output: object) -> None:
    body = json_bytes({"output": output})
    last = RelayedLast(sequence_number=0, name=b"x", data=b"{}", body=body, response=Ending(status="completed"))
    noted = answer_contents(last)
    assert len(noted.items) == (len(output) if isinstance(output, list) else 0)
