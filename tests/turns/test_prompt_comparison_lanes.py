"""Why a cache missed, over a websocket and over the relay."""

import json
import logging
from typing import Any

import pytest

from app.settings import Server
from app.turns.prompt_comparison import (
    UNCHANGED,
)
from app.turns.warning_output import HEADER
from tests.support.compared_prompts import FIRST, NEW_RULES, SECOND, WATCHING, Json, lines, post, replies, settings_of
from tests.support.serving import serving
from tests.wire.servers import ChatUpstream, ResponsesUpstream
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import opened


async def test_a_websocket_knows_its_last_response_without_a_ring_buffer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "am_proxy.turn")
    new = {"input": [{"role": "user", "content": "Go on."}]}
    with (
        ChatUpstream(replies(), replies(900), replies(0)) as upstream,
        serving(settings_of(upstream, Server(watch=0))) as url,
    ):
        async with opened(url) as client:

            async def last(previous: str | None, wanted: str, **fields: Any) -> Json:
                options = {"prompt_cache_options": {"comparison_response_id": wanted}}
                events = await client.ask(
                    model="m", previous_response_id=previous, **{**FIRST, **new, **fields}, **options
                )
                response: Json = events[-1]["response"]
                assert [event for event in events if "x_am_warnings" in event] == []
                return response

            first = (await client.ask(model="m", **FIRST))[-1]["response"]["id"]
            second = await last(first, first)
            third = await last(second["id"], second["id"], tools=[])
            fourth = await last(third["id"], first)
    assert second["prompt_cache_diagnostics"]["type"] == "cache_hit"
    assert third["prompt_cache_diagnostics"]["reason"] == "tools_changed"
    assert fourth["prompt_cache_diagnostics"]["type"] == "comparison_response_not_found"
    changes = [line.get("prompt_change") for line in lines(caplog)]
    assert [change and change.split(",")[0] for change in changes] == [
        None, UNCHANGED, "tools are fewer than before", "tools[0] was added",
    ]  # fmt: skip


async def test_what_is_only_remembered_cannot_be_compared() -> None:
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream, Server(watch=0))) as url:
        async with opened(url) as client:
            options = {"prompt_cache_options": {"comparison_response_id": "resp_AM-0"}}
            events = await client.ask(model="m", generate=False, **FIRST, **options)
            prepared = events[-1]["response"]
            after = await client.ask(
                model="m", **SECOND, prompt_cache_options={"comparison_response_id": prepared["id"]}
            )
    assert prepared["prompt_cache_diagnostics"]["type"] == "unavailable"
    assert after[-1]["response"]["prompt_cache_diagnostics"]["type"] == "comparison_response_not_found"


def relayed(**fields: Any) -> list[Json]:
    usage = {
        "input_tokens": 1000, "output_tokens": 5, "total_tokens": 1005,
        "input_tokens_details": {"cached_tokens": 900}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    return answer(message("msg_1", "Hi."), usage=usage, **fields)


def test_over_the_relay_the_upstream_is_asked_by_its_own_id_and_its_answer_is_passed_on() -> None:
    theirs = {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 7}
    with (
        ResponsesUpstream(relayed(), relayed(prompt_cache_diagnostics=theirs)) as upstream,
        serving(settings_of(upstream, Server(watch=0))) as url,
    ):
        first = post(url, FIRST).json()["id"]
        second = post(url, SECOND, compared_with=first)
        assert upstream.asks[1].body["prompt_cache_options"] == {"comparison_response_id": first.replace("AM-", "")}
    assert second.json()["prompt_cache_diagnostics"] == theirs
    assert HEADER not in second.headers


@pytest.mark.parametrize("server", [WATCHING, Server(watch=0)], ids=["watch", "no watch"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_does_not_know_the_question_is_answered_for(server: Server, stream: bool) -> None:  # noqa: FBT001
    with ResponsesUpstream(relayed()) as upstream, serving(settings_of(upstream, server)) as url:
        first = post(url, FIRST).json()["id"]
        second = post(url, NEW_RULES, compared_with=first, stream=stream)
    if stream:
        events = [json.loads(line[6:]) for line in second.text.splitlines() if line.startswith("data: {")]
        found = events[-1]["response"]["prompt_cache_diagnostics"]
    else:
        found = second.json()["prompt_cache_diagnostics"]
    expected = ("cache_miss", "instructions") if server.watch else ("unavailable", None)
    assert (found["type"], found.get("first_change", {}).get("place")) == expected
