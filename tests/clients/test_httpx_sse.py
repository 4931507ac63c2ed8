"""httpx with httpx-sse: a plain reader of event streams hears every event."""

import httpx
import pytest
from httpx_sse import connect_sse

from tests.support.demo_behaviours import BEHAVIOURS, Behaviour
from tests.wire.event_stream import judged


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_every_event_is_heard(demo_url: str, behaviour: Behaviour) -> None:
    asked = {"model": "demo", "input": behaviour.prompt, "tools": behaviour.tools, "stream": True}
    with (
        httpx.Client(timeout=50) as client,
        connect_sse(client, "POST", f"{demo_url}/v1/responses", json=asked) as source,
    ):
        *events, done = source.iter_sse()
    assert done.data == "[DONE]"
    told = [event.json() for event in events]
    assert [event.event for event in events] == [each["type"] for each in told]
    judged(told)
    assert told[-1]["type"] == behaviour.last_event
