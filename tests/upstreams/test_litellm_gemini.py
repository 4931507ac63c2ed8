"""Gemini's streams behind litellm."""

import pytest

from tests.support.litellm_streams import Json, read_answer, usage
from tests.support.upstream_asks import TOOLS
from tests.wire.servers import Step
from tests.wire.servers.gemini import answers as candidate


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            [
                candidate({"text": "hm", "thought": True}),
                candidate({"text": "Hi"}),
                candidate(
                    finish="STOP",
                    promptTokenCount=10,
                    candidatesTokenCount=5,
                    thoughtsTokenCount=3,
                    totalTokenCount=18,
                    cachedContentTokenCount=4,
                ),
            ],
            {"reasoning": "hm", "text": "Hi", "finish": "stop", "usage": usage(10, 8, cached=4, reasoning=3)},
            id="thoughts and text",
        ),
        pytest.param([candidate({"text": "Hi"}, finish="MAX_TOKENS")], {"text": "Hi", "finish": "length"}, id="length"),
        pytest.param([candidate(finish="SAFETY")], {"finish": "content_filter"}, id="content filter"),
        pytest.param(
            [candidate({"text": "a [DONE] b\u2028c"}, finish="STOP")],
            {"text": "a [DONE] b\u2028c", "finish": "stop"},
            id="text that looks like the end",
        ),
    ],
)
async def test_gemini_is_read_as_it_was_sent(script: list[Step], expected: Json) -> None:
    assert await read_answer("gemini", script, tools=TOOLS) == expected


async def test_geminis_calls_carry_their_signature() -> None:
    """Gemini wants it back with the call."""
    first = {"functionCall": {"name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": "c2ln"}
    second = {"functionCall": {"name": "weather", "args": {}}}
    received = await read_answer("gemini", [candidate(first), candidate(second, finish="STOP")], tools=TOOLS)
    ids = [call.pop(1) for call in received["calls"]]
    assert received == {"calls": [[0, "weather", '{"city": "Rome"}'], [1, "weather", "{}"]], "finish": "tool_calls"}
    assert ids[0].endswith("__thought__c2ln")
    assert ids[0] != ids[1]
