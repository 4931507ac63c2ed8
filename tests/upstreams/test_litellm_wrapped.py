"""Providers whose streams we do not know are read through litellm's own wrapper, with its ways."""

from typing import Any

import pytest

from app.upstreams.litellm_chat import LitellmChat
from tests.support.upstream_asks import KEY, Lenient, answer_of, answers, asks
from tests.wire.script import calls, more, says, stops, thinks, turn
from tests.wire.servers import Step


# litellm looks at every attribute of its own models, deprecated ones too
@pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            turn(says("Hel"), says("lo [DONE]\u2028")),
            {"text": "Hello [DONE]\u2028", "finish": "stop"},
        ),
        (turn(thinks("hm"), says("Hi")), {"reasoning": "hm", "text": "Hi", "finish": "stop"}),
        (
            turn(calls(0, "weather", id="c1"), more(0, '{"a": 1}'), reason="tool_calls"),
            {"calls": [[0, "c1", "weather", '{"a": 1}']], "finish": "tool_calls"},
        ),
        ([says("Hi")], {"text": "Hi"}),
        ([says("Hi"), stops()], {"text": "Hi", "finish": "stop"}),
    ],
    ids=[
        "text",
        "reasoning",
        "a call",
        "without a finish: litellm would invent one",
        "without usage: litellm would guess it",
    ],
)
async def test_an_unknown_provider_is_heard_all_the_same(script: list[Step], expected: dict[str, Any]) -> None:
    with Lenient(script) as upstream:
        chat = LitellmChat("databricks", api_key=KEY, base_url=upstream.url)
        chunks, problem = await answers(chat, asks())
    assert problem is None
    result = answer_of(chunks)
    usage = result.pop("usage", None)
    assert result == expected
    counted = any(step.get("usage") for step in script if isinstance(step, dict))
    assert (usage is not None) == counted
    assert usage is None or (usage["prompt_tokens"], usage["completion_tokens"]) == (7, 5)
