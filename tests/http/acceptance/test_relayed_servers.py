"""Servers that speak Responses in ways of their own, behind this one, and what the openai package makes of them."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.event_stream import events_of, judged
from tests.wire.program import serving
from tests.wire.servers import Cut, ResponsesUpstream
from tests.wire.servers.responses import ScriptedItem, answer, begins, call, ends, message, reasoning
from tests.wire.servers.responses_like import codex_backend, copilot, llama_cpp, transformers, vllm

Json = dict[str, Any]

ITEMS = [reasoning("rs_0", "hm"), message("msg_1", "Hel", "lo"), call("fc_2", "call_2", "weather", '{"city"', ":1}")]
SERVERS = [codex_backend, copilot, llama_cpp, transformers, vllm]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ResponsesUpstream]:
    with ResponsesUpstream() as scripted:
        yield scripted


@pytest.fixture(scope="module")
def url(upstream: ResponsesUpstream) -> Iterator[str]:
    native = Upstream(via="responses", base_url=upstream.url)
    settings = Settings(upstreams={"native": native}, models={"*": Model(upstream="native")})
    with serving(settings, fresh=True) as address:
        yield f"{address}/v1"


@pytest.mark.parametrize("like", SERVERS)
def test_the_openai_package_reads_the_same_streamed_and_whole(
    like: Callable[[list[Json]], list[Json]], upstream: ResponsesUpstream, url: str
) -> None:
    upstream.scripts = (like(answer(*ITEMS)),)
    with OpenAI(base_url=url, api_key="any", max_retries=0) as client:
        with client.responses.stream(model="m", input="hi") as stream:
            types = [event.type for event in stream]
            final = stream.get_final_response()
        whole = client.responses.create(model="m", input="hi")
    assert "response.output_text.delta" in types
    for entry in (final, whole):
        assert (entry.output_text, entry.status) == ("Hello", "completed")
        assert [item.type for item in entry.output] == ["reasoning", "message", "function_call"]
        assert entry.output[2].arguments == '{"city":1}'  # type: ignore[union-attr]


@pytest.mark.parametrize("like", SERVERS)
def test_text_is_kept_when_the_server_dies(
    like: Callable[[list[Json]], list[Json]], upstream: ResponsesUpstream, url: str
) -> None:
    events = like(answer(message("msg_1", "Hel", "lo")))
    text = next(place for place, event in enumerate(events) if event["type"].endswith("output_text.delta"))
    upstream.scripts = ([*events[: text + 1], Cut()],)
    streamed = httpx.post(f"{url}/responses", json={"model": "m", "input": "hi", "stream": True})
    body = events_of(streamed.content)[-1]["response"]
    assert (body["status"], body["output"][0]["content"][0]["text"]) == ("failed", "Hel")


def cut(like: Callable[[list[Json]], list[Json]]) -> list[Json]:
    """An answer that a limit ended in the middle of a call."""
    content = call("fc_1", "call_1", "weather", '{"city')
    content.done["status"] = "incomplete"
    details = {"reason": "max_output_tokens"}
    return like(answer(content, status="incomplete", incomplete_details=details))


@pytest.mark.parametrize("like", SERVERS)
def test_a_call_that_was_cut_is_incomplete_and_fails_for_codex(
    like: Callable[[list[Json]], list[Json]], upstream: ResponsesUpstream, url: str
) -> None:
    upstream.scripts = (cut(like),)
    ask = {"model": "m", "input": "hi", "stream": True}
    events = events_of(httpx.post(f"{url}/responses", json=ask).content)
    assert judged(events).calls == []
    assert events[-1]["type"] == "response.incomplete"
    codex = events_of(httpx.post(f"{url}/responses", json=ask, headers={"originator": "codex_cli_rs"}).content)
    assert judged(codex).calls == []
    assert (codex[-1]["type"], codex[-1]["response"]["error"]["code"]) == ("response.failed", "invalid_prompt")


def test_half_a_patch_is_never_a_finished_call(upstream: ResponsesUpstream, url: str) -> None:
    """Codex applies a patch as soon as its call is done."""
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch"}
    half = "*** Begin Patch\n*** Delete File: a"
    content = ScriptedItem(
        [
            {"type": "response.custom_tool_call_input.delta", "delta": half},
            {"type": "response.custom_tool_call_input.done", "input": half},
        ],
        {**item, "status": "in_progress", "input": ""},
        {**item, "status": "incomplete", "input": half},
    )
    details = {"reason": "max_output_tokens"}
    upstream.scripts = (vllm(answer(content, status="incomplete", incomplete_details=details)),)
    ask = {"model": "m", "input": "hi", "stream": True}
    received = events_of(httpx.post(f"{url}/responses", json=ask).content)
    codex = events_of(httpx.post(f"{url}/responses", json=ask, headers={"originator": "codex_cli_rs"}).content)
    ends = [[event["type"] for event in events if event["type"].endswith(".done")] for events in (received, codex)]
    assert ends == [["response.output_item.done"], []]
    assert (received[-1]["type"], received[-1]["response"]["output"][0]["status"]) == (
        "response.incomplete",
        "incomplete",
    )
    assert (codex[-1]["type"], codex[-1]["response"]["output"]) == ("response.failed", [])


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_the_final_response_holds_what_was_streamed(kept: int, upstream: ResponsesUpstream, url: str) -> None:
    events = answer(*ITEMS)
    events[-1]["response"]["output"] = [ITEMS[kept].done]
    upstream.scripts = (events,)
    with OpenAI(base_url=url, api_key="any", max_retries=0) as client:
        whole = client.responses.create(model="m", input="hi")
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]


def test_an_error_in_the_stream_keeps_its_code(upstream: ResponsesUpstream, url: str) -> None:
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota."}
    upstream.scripts = ([*begins(), {"type": "error", **error, "param": None}, ends(status="failed", error=error)],)
    events = events_of(httpx.post(f"{url}/responses", json={"model": "m", "input": "hi", "stream": True}).content)
    assert events[-1]["response"]["error"] == error
    upstream.scripts = ([{"type": "error", **error, "param": None}],)
    refused = httpx.post(f"{url}/responses", json={"model": "m", "input": "hi", "stream": True})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")


def test_labels_and_counts_of_an_upstream_reach_no_counter(upstream: ResponsesUpstream, url: str) -> None:
    """A label that an upstream may choose is memory that it may take; a huge count is a fault in who counts."""
    events = answer(message("msg_1", "Hi"))
    huge = {"input_tokens": 10**400, "output_tokens": 10**400, "total_tokens": 10**400}
    events[-1]["response"] |= {"status": "made-up-by-the-upstream", "usage": huge}
    upstream.scripts = (events,)
    for stream in (False, True):
        response = httpx.post(f"{url}/responses", json={"model": "m", "input": "hi", "stream": stream})
        assert response.status_code == 200
    page = httpx.get(f"{url.removesuffix('/v1')}/metrics").text
    assert "made-up" not in page
    assert json.dumps(huge) not in page
    assert 'am_proxy_requests_total{finish="completed",model="m",upstream="native"}' in page
