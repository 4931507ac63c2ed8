"""A scripted server for each lane that says the same."""

from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Script
from tests.wire.servers.responses import answer, message


def scripted_upstream(via: str, *scripts: Script) -> ChatUpstream | ResponsesUpstream:
    """A scripted server for this lane; `text_turn` is translated to its format."""
    if via != "responses":
        return ChatUpstream(*scripts)
    reply = answer(message("msg_1", "Hi"))
    return ResponsesUpstream(*[reply if script == text_turn("Hi") else script for script in scripts])
