"""Searches in the middle of an answer: ended by the client, by a time limit, and after a summary."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from app.settings import Model, Search, Secret, Server, Settings, Upstream
from tests.support.long_conversation import HISTORY, NEXT_MESSAGE
from tests.support.serving import serving
from tests.support.steering import THOUGHT, steered
from tests.wire import grammar
from tests.wire.event_stream import events_of
from tests.wire.script import call_turn, counts, opens, says, stops, text_turn, thinks
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream, Hang, Latch, Pause, Script, Status
from tests.wire.sockets import Client, opened, text_of
from tests.wire.web_site import Site, page

Json = dict[str, Any]

CATS: Final = call_turn("web_search", '{"query": "cats"}')
TOOLS: Final = [{"type": "web_search"}]
SLOW: Final = {"/search?q=cats&format=json": page(json.dumps({"results": []}).encode(), pause=0.35)}


@contextmanager
def between(
    upstream: ChatUpstream, server: SearchServer | Site, ours: Server | None = None, **of_upstream: Any
) -> Iterator[str]:
    """The address of AM Proxy between these two."""
    settings = Settings(
        search=Search(backend="searxng", base_url=server.url),
        server=ours or Server(first_payload_wait=0.1),
        upstreams={
            "there": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk"), **{"retries": 0, **of_upstream})
        },
        models={"m": Model(upstream="there", search=True)},
    )
    with serving(settings) as url:
        yield url


async def until(client: Client, kind: str, **body: Any) -> list[Json]:
    """The events of a new turn up to one of this type."""
    await client.send(model="m", input="What do cats do?", tools=TOOLS, **body)
    events = [await client.event()]
    while events[-1]["type"] != kind:
        events.append(await client.event())
    return events


def wait_for(site: Site) -> None:
    """Returns when it is asked."""
    while not site.asked:
        time.sleep(0.01)


def wait_for_second(upstream: ChatUpstream) -> None:
    """Returns when the model is asked again."""
    while len(upstream.asks) < 2:
        time.sleep(0.01)


async def ended(client: Client, events: list[Json], verb: str) -> Json:
    """The response of these events, which the client ends."""
    frame: Json = {"type": f"response.{verb}", "response_id": events[0]["response"]["id"]}
    frame |= {"mode": "discard_partial_items"} if verb == "interrupt" else {}
    await client.connection.send(json.dumps(frame))
    events += await client.answer()
    grammar.check(events)
    response: Json = events[-1]["response"]
    return response


@pytest.mark.parametrize("verb", ["interrupt", "cancel"])
async def test_a_client_that_ends_the_response_while_it_is_searched_ends_the_search(verb: str) -> None:
    said = [opens(), says("Let me see."), *CATS[1:]]
    with Site(SLOW) as site, ChatUpstream(said, text_turn("Two.")) as upstream, between(upstream, site) as url:
        async with opened(url) as client:
            events = await until(client, "response.output_text.delta")
            await asyncio.to_thread(wait_for, site)
            response = await ended(client, events, verb)
            assert response["incomplete_details"] == {"reason": "interrupted"}
            assert len(upstream.asks) == 1
            again = await client.ask(model="m", input="And?", previous_response_id=response["id"])
            assert text_of(again) == "Two."


@pytest.mark.parametrize("verb", ["interrupt", "cancel"])
async def test_a_search_that_is_done_is_kept_where_the_client_ends_the_response_before_the_next_word(verb: str) -> None:
    with (
        SearchServer() as server,
        ChatUpstream(CATS, [Hang()], text_turn("Two.")) as upstream,
        between(upstream, server) as url,
    ):
        async with opened(url) as client:
            events = await until(client, "response.in_progress")
            await asyncio.to_thread(wait_for_second, upstream)
            response = await ended(client, events, verb)
            again = await client.ask(model="m", input="And?", tools=TOOLS, previous_response_id=response["id"])
    assert [(item["type"], item["status"]) for item in response["output"]] == [("web_search_call", "completed")]
    assert response["tool_usage"]["web_search"] == {"num_requests": 1}
    assert text_of(again) == "Two."
    assert "https://example.com/one" in json.dumps(upstream.asks[-1].body)


def test_a_search_is_shown_while_the_model_reads_what_was_found() -> None:
    """A long prompt takes a model many seconds."""
    with (
        SearchServer() as server,
        ChatUpstream(CATS, [Pause(0.5), *text_turn("They sleep.")]) as upstream,
        between(upstream, server, Server(keep_alive=0.1)) as url,
    ):
        answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "x", "tools": TOOLS, "stream": True})
    kinds = [event["type"] for event in events_of(answer.content)]
    assert "response.in_progress" in kinds[kinds.index("response.web_search_call.completed") :]


async def test_usage_of_both_messages_where_the_client_ends_the_second() -> None:
    second: Script = [opens(), says("word " * 8), Hang()]
    with (
        SearchServer() as server,
        ChatUpstream([*CATS, counts(7, 5)], second) as upstream,
        between(upstream, server) as url,
    ):
        async with opened(url) as client:
            events = await until(client, "response.output_text.delta")
            frame = {"type": "response.cancel", "response_id": events[0]["response"]["id"]}
            await client.connection.send(json.dumps(frame))
            events += await client.answer()
    grammar.check(events)
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["web_search_call", "message"]
    assert events[-1]["response"]["usage"]["output_tokens"] == 5 + 10


async def test_usage_of_both_messages_where_the_second_is_steered() -> None:
    gate = Latch()
    second: Script = [opens(), thinks("word " * 8), gate, says("Old"), Hang()]
    with (
        SearchServer() as server,
        ChatUpstream([*CATS[:-1], counts(7, 5)], second, text_turn("New.")) as upstream,
        between(upstream, server) as url,
    ):
        async with opened(url) as client:
            asked = {"model": "m", "input": "What do cats do?", "tools": TOOLS}
            events = await steered(client, gate, THOUGHT, **asked)
            assert text_of(await client.answer()) == "New."
    usage = events[-1]["response"]["usage"]
    assert (usage["output_tokens"], usage["estimated"]) == (5 + 11, True)  # the word that was read, too


async def test_a_connection_remembers_an_answer_with_searches() -> None:
    with (
        SearchServer() as server,
        ChatUpstream(CATS, text_turn("They sleep."), text_turn("Yes.")) as upstream,
        between(upstream, server) as url,
    ):
        async with opened(url) as client:
            events = await client.ask(model="m", input="What do cats do?", tools=TOOLS)
            grammar.check(events)
            again = await client.ask(model="m", input="Sure?", previous_response_id=events[-1]["response"]["id"])
    assert text_of(again) == "Yes."
    messages = upstream.asks[-1].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert "https://example.com/one" in json.dumps(messages)


@pytest.mark.parametrize("keep_alive", [0.1, 15])
def test_the_time_limit_of_a_turn_is_one_for_all_messages(keep_alive: float) -> None:
    """It is measured from the beginning of the turn, however long the first message and the search have taken."""
    in_time: Script = [Pause(0.8), opens(), says("They sleep."), stops()]
    late: Script = [opens(), Pause(0.7), says("They sleep."), stops()]
    server = Server(first_payload_wait=0.1, keep_alive=keep_alive)
    ended, began, events = [], 0.0, list[Json]()
    for last, limit in ((in_time, 2.6), (late, 1)):
        with (
            Site(SLOW) as site,
            ChatUpstream(CATS, last) as upstream,
            between(upstream, site, server, turn_timeout=limit) as url,
        ):
            body = {"model": "m", "input": "x", "tools": TOOLS, "stream": True}
            began = time.monotonic()
            events = events_of(httpx.post(f"{url}/v1/responses", json=body).content)
        grammar.check(events)
        ended.append((events[-1]["type"], len(upstream.asks)))
    assert ended == [("response.completed", 2), ("response.failed", 2)]
    assert time.monotonic() - began > 0.95
    assert "still answering" in events[-1]["response"]["error"]["message"]


def test_a_summary_comes_before_the_searches() -> None:
    conversation = [HISTORY[0], {"role": "assistant", "content": "word " * 2_000}, NEXT_MESSAGE]
    body: Json = {
        "model": "m",
        "input": conversation,
        "tools": TOOLS,
        "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
    }
    scripts = (
        [opens(), says("Notes."), stops(), counts(7, 5)],
        [*CATS, counts(7, 5)],
        [*text_turn("Fine."), counts(7, 5)],
    )
    with SearchServer() as server, ChatUpstream(*scripts) as upstream, between(upstream, server) as url:
        response = httpx.post(f"{url}/v1/responses", json=body).json()
    assert [item["type"] for item in response["output"]] == ["compaction", "web_search_call", "message"]
    assert response["usage"]["output_tokens"] == 15
    assert len(upstream.asks) == 3


def test_a_model_that_says_nothing_after_a_search_is_given_up() -> None:
    with (
        SearchServer() as server,
        ChatUpstream(CATS, [Hang()]) as upstream,
        between(upstream, server, first_payload_timeout=0.3) as url,
    ):
        answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "x", "tools": TOOLS})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")


def test_an_upstream_that_is_busy_after_a_search_is_asked_once_more() -> None:

    busy = [Status(503, b"busy")]
    with (
        SearchServer() as server,
        ChatUpstream(CATS, busy, text_turn("They sleep.")) as upstream,
        between(upstream, server, retries=1) as url,
    ):
        response = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "x", "tools": TOOLS}).json()
    assert [item["type"] for item in response["output"]] == ["web_search_call", "message"]
    assert (len(server.asked), len(upstream.asks)) == (1, 3)


def test_ids_that_repeat_are_replaced() -> None:
    """Some servers number the calls of each message from zero."""
    scripts = [CATS, CATS, text_turn("They sleep.")]
    with SearchServer() as server, ChatUpstream(*scripts) as upstream, between(upstream, server) as url:
        asked = {"model": "m", "input": "What do cats do?", "tools": TOOLS}
        assert httpx.post(f"{url}/v1/responses", json=asked).json()["status"] == "completed"
    messages = upstream.asks[-1].body["messages"]
    made = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    assert made == [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert len(set(made)) == 2
