"""A server with one lane, and the model's server behind it, which validates all that it gets."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

from tests.fields.field_lanes import Outcome, settings_of
from tests.support.providers import openai_is_here
from tests.support.serving import serving
from tests.wire.fields.field_samples import Case
from tests.wire.script import call_turn, text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import Ask, ChatUpstream, ScriptedUpstream, Step
from tests.wire.servers.functions_only import VllmResponses
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import opened

QUERY: Final = "cats"
GREETING: Final = answer(message("msg_1", "Hi"))


async def frame_outcome(frame: Case, url: str, model: str = "demo") -> Outcome:
    """What a connection answers to this frame."""
    told = {"model": model, "input": "Hi"} if frame.held["type"] == "response.create" else {}
    async with opened(url, max_queue=None) as client:  # it closes at once, although events that nobody reads arrive
        await client.connection.send(json.dumps(told | frame.held | ({"model": model} if told else {})))
        first = await client.event()
    if first["type"] == "error" or first["type"].endswith(".failed"):
        return Outcome("refused", f"`{first['type']}`: {first['error']['message']}")
    return Outcome("honoured")


class LaneServer(NamedTuple):
    """The addresses of a usual server and of a strict one, and what is behind both."""

    url: str
    strict: str
    upstream: ScriptedUpstream
    searches: SearchServer


def _chat(ask: Ask) -> list[Step]:
    """It searches first, if it may."""
    names = {tool["function"]["name"] for tool in ask.body.get("tools", [])}
    if "web_search" in names and ask.body["messages"][-1]["role"] != "tool":
        return [*call_turn("web_search", f'{{"query": "{QUERY}"}}')]
    return [*text_turn("Hi")]


def _upstream(name: str) -> ScriptedUpstream:
    return VllmResponses(GREETING) if name == "functions" else ChatUpstream(_chat, also="prompt_cache_retention")


@contextmanager
def lane_server(name: str) -> Iterator[LaneServer]:
    """The servers of this lane, until the block ends."""
    with ExitStack() as stack:
        stack.enter_context(openai_is_here())
        upstream, searches = stack.enter_context(_upstream(name)), stack.enter_context(SearchServer())
        usual, strict = (
            settings_of(name, upstream.url, searches.url, allow_private_urls=True, strict=strict)
            for strict in (False, True)
        )
        url, strict_url = stack.enter_context(serving(usual)), stack.enter_context(serving(strict))
        yield LaneServer(url, strict_url, upstream, searches)
