"""Scripted upstreams on a real socket of this machine. They VALIDATE every ask they receive, always.

    with ChatUpstream([says("Hi"), stops("stop")]) as upstream:
        ...                            # talk to upstream.url (it ends in /v1)
    assert upstream.asks[0].body["model"] == "m"

One script per ask: `ChatUpstream(first, second)`; the last one is used again for every further ask. A script is a list
of steps, or a function that gets the `Ask` and returns one. An ask that the real server would not accept is answered
with a 400 and fails the test when the `with` block ends; `violations` holds them.
"""

from tests.support.servers.anthropic import AnthropicUpstream
from tests.support.servers.chat import ChatUpstream
from tests.support.servers.gemini import GeminiUpstream
from tests.support.servers.responses import ResponsesUpstream
from tests.support.servers.server import (
    Ask,
    Cut,
    End,
    Gate,
    Hang,
    Json,
    Leave,
    Pause,
    Reset,
    Script,
    ScriptedUpstream,
    Status,
    Step,
)

__all__ = [
    "AnthropicUpstream",
    "Ask",
    "ChatUpstream",
    "Cut",
    "End",
    "Gate",
    "GeminiUpstream",
    "Hang",
    "Json",
    "Leave",
    "Pause",
    "Reset",
    "ResponsesUpstream",
    "Script",
    "ScriptedUpstream",
    "Status",
    "Step",
]
