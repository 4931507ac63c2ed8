"""Any request becomes chat messages in a legal order, and a longer history begins with the bytes of the shorter one.

`EXAMPLES=2000` tries more of them.
"""

import json
import os
from itertools import pairwise
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from app.dialects.chat.body import body
from app.prompt.build import build
from app.prompt.nouns import Model
from app.providers.table import provider_of
from app.settings.tables import Can, ModelSettings, ServerSettings, UpstreamSettings
from app.tools.table import SHAPES
from app.types.parse import parse

Json = dict[str, Any]
TEXTS: Final = st.sampled_from(["", " ", "Hi", "Grüß dich\u2028", "null", '{"a": 1}'])
PICTURE: Final = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
PARTS: Final = st.lists(
    st.builds(lambda text: {"type": "input_text", "text": text}, TEXTS) | st.just(PICTURE), max_size=3
)
IDS: Final = st.sampled_from(["", "a", "b", "call c", "x" * 50])
ROLES: Final = st.sampled_from(["assistant", "system", "developer"])
MESSAGES: Final = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, TEXTS | PARTS),
    st.builds(lambda role, text: {"role": role, "content": text}, ROLES, TEXTS),
    st.builds(lambda text: {"type": "agent_message", "content": text}, TEXTS),
)
OTHERS: Final = st.one_of(
    st.builds(lambda text: {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}, TEXTS),
    st.sampled_from(
        [
            {"type": "web_search_call"},
            {"type": "image_generation_call", "result": "iVBORw0KGgo="},
            {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": None}},
            {"type": "configuration_update", "reasoning": {"effort": "high"}},
            {"type": "compaction", "encrypted_content": "gAAAA"},
        ]
    ),
)
CALLS: Final = st.builds(
    lambda call_id, arguments: {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments},
    IDS,
    TEXTS,
)
OUTPUTS: Final = st.builds(
    lambda call_id, output: {"type": "function_call_output", "call_id": call_id, "output": output}, IDS, TEXTS | PARTS
)
ITEMS: Final = st.lists(MESSAGES | OTHERS | CALLS | OUTPUTS, max_size=12)
LATER: Final = st.lists(MESSAGES | OTHERS, max_size=4)
LAST: Final = {"role": "user", "content": "And now?"}
MODELS: Final = st.builds(
    lambda provider, how, alternates: Model(
        "m", "m", ModelSettings(system_messages=how, alternating_roles=alternates), UpstreamSettings(via="demo"),
        provider_of(provider), Can(), ServerSettings(), "",
    ),
    st.sampled_from(["", "mistral", "openai", "deepseek"]),
    st.sampled_from(["keep", "as_user", "merge_head"]),
    st.booleans(),
)  # fmt: skip


def messages_of(items: list[Json], model: Model) -> list[Json]:
    request, _ = parse({"model": "m", "input": items}, SHAPES)
    return list(body(build(request, model)[0], model)[0]["messages"])


@settings(max_examples=int(os.environ.get("EXAMPLES", "200")), deadline=None, database=None)
@given(ITEMS, LATER, MODELS)
def test_messages_are_in_a_legal_order_and_their_beginning_is_stable(
    items: list[Json], later: list[Json], model: Model
) -> None:
    messages = messages_of([*items, LAST], model)
    waiting: list[str] = []
    used: set[str] = set()
    for message in messages:
        calls = [call["id"] for call in message.get("tool_calls", ())]
        assert message["role"] in {"system", "user", "assistant", "tool"}
        assert message["content"] or (message["content"] is None and calls)
        assert message.get("tool_call_id") == (waiting.pop(0) if waiting else None)
        assert used.isdisjoint(calls)
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict) for call in message.get("tool_calls", ())
        )
        used.update(calls)
        waiting = waiting or calls
    assert waiting == []
    roles = [message["role"] for message in messages]
    if model.settings.alternating_roles:
        assert "system" not in roles[1:]
        assert all({one, two} != {"user"} for one, two in pairwise(roles))
    elif model.settings.system_messages != "merge_head":
        longer = messages_of([*items, LAST, {"role": "assistant", "content": "Ok."}, *later, LAST], model)
        assert json.dumps(longer).startswith(json.dumps(messages)[:-1])
