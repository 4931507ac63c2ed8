"""A scripted server for each lane that says the same."""

from tests.support.script import talk
from tests.support.servers import ChatUpstream, ResponsesUpstream, Script
from tests.support.servers.responses import answer, message


def scripted_upstream(via: str, *scripts: Script) -> ChatUpstream | ResponsesUpstream:
    """A scripted server for this lane; `talk` is said in its own words."""
    if via != "responses":
        return ChatUpstream(*scripts)
    said = answer(message("msg_1", "Hi"))
    return ResponsesUpstream(*[said if script == talk("Hi") else script for script in scripts])
