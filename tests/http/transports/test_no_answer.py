"""Requests that want no answer: over HTTP and over a websocket they ask no model, and cost nothing."""

import json
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import judged
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Status
from tests.wire.servers.responses import answer
from tests.wire.sockets import opened

Json = dict[str, Any]

PREWARMED: Final[Json] = {"prompt_cache_options": {"prewarm": True}}
PREWARM: Final = "'prompt_cache_options.prewarm' "
"""How its warning begins."""
NOTHING_USED: Final = (0, 0, 0)


class Pair:
    """One model behind chat completions, and one behind the Responses API, of which the first may answer for it."""

    def __init__(self, url: str, chat: ChatUpstream, responses: ResponsesUpstream) -> None:
        self.url = url
        self.chat = chat
        self.responses = responses

    def post(self, path: str = "", **fields: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/responses{path}", json={"model": "chat", "input": "Hi", **fields}, timeout=20)


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    with ChatUpstream() as chat, ResponsesUpstream() as responses:
        settings = Settings(
            upstreams={
                "c": Upstream(via="chat", base_url=chat.url),
                "r": Upstream(via="responses", base_url=responses.url),
            },
            models={
                "chat": Model(upstream="c"),
                "relay": Model(upstreams=["r", "c"]),
            },
        )
        with serving(settings) as url:
            yield Pair(url, chat, responses)


@pytest.fixture
def pair(both: Pair) -> Pair:
    for upstream in (both.chat, both.responses):
        upstream.asks.clear()
    both.chat.scripts = (text_turn("one"),)
    both.responses.scripts = (answer(),)
    return both


def used(response: Json) -> tuple[int, int, int]:
    usage = response["usage"]
    return usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("model", "fields", "warnings"),
    [
        ("chat", {"generate": False}, []),
        ("relay", {"generate": False}, []),
        ("chat", PREWARMED, [PREWARM]),
        ("chat", {**PREWARMED, "generate": True}, [PREWARM]),
    ],
)
def test_no_model_is_asked(pair: Pair, model: str, fields: Json, warnings: list[str], *, stream: bool) -> None:
    got = pair.post(model=model, stream=stream, **fields)
    assert got.status_code == 200
    if stream:
        events = [json.loads(line[6:]) for line in got.text.splitlines() if line.startswith("data: {")]
        judged(events)
        response = events[-1]["response"]
    else:
        response = got.json()
    assert (response["status"], response["output"], used(response)) == ("completed", [], NOTHING_USED)
    told = json.loads(got.headers.get("x-am-warnings", "[]"))
    assert [warning[: len(PREWARM)] for warning in told] == warnings
    assert (pair.chat.asks, pair.responses.asks) == ([], [])


def test_a_server_of_the_responses_api_prepares_its_own_cache(pair: Pair) -> None:
    got = pair.post(model="relay", **PREWARMED)
    assert got.json()["output"] == []
    [ask] = pair.responses.asks
    assert ask.body["prompt_cache_options"] == {"prewarm": True}
    assert "generate" not in ask.body


def test_where_that_server_fails_no_other_one_writes_an_answer(pair: Pair) -> None:
    pair.responses.scripts = ([Status(503, {})],)
    assert pair.post(model="relay", **PREWARMED).status_code >= 500
    assert pair.chat.asks == []


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"generate": "no"}, ("invalid_type", "generate")),
        ({"prompt_cache_options": 1}, ("invalid_type", "prompt_cache_options")),
        ({"prompt_cache_options": {"prewarm": 1}}, ("invalid_type", "prompt_cache_options.prewarm")),
        ({"generate": False, "input": [{"type": "item_reference", "id": "i"}]}, ("unsupported_parameter", "input[0]")),
    ],
)
def test_what_cannot_be_prepared_is_refused(pair: Pair, fields: Json, fault: tuple[str, str]) -> None:
    error = pair.post(**fields).json()["error"]
    assert (error["code"], error["param"]) == fault


@pytest.mark.parametrize(("fields", "param"), [({"generate": False}, "generate"), (PREWARMED, "prompt_cache_options")])
def test_a_summary_cannot_be_asked_for_without_an_answer(pair: Pair, fields: Json, param: str) -> None:
    got = pair.post("/compact", **fields)
    assert (got.status_code, got.json()["error"]["param"]) == (400, param)
    assert pair.chat.asks == []


def test_a_strict_server_refuses_what_prepares_nothing() -> None:
    with serving(Settings(server=Server(strict=True))) as url:
        asked = {"model": "demo", "input": "Hi"}
        refused = httpx.post(f"{url}/v1/responses", json={**asked, **PREWARMED})
        prepared = httpx.post(f"{url}/v1/responses", json={**asked, "generate": False})
    assert (refused.status_code, prepared.status_code) == (400, 200)
    assert PREWARM in refused.json()["error"]["message"]


async def test_over_a_websocket_a_prepared_cache_is_a_warm_up_with_a_warning(pair: Pair) -> None:
    async with opened(pair.url) as client:
        first, *others = await client.ask(model="chat", input="Hi", **PREWARMED)
        [warning] = first["x_am_warnings"]
        assert warning.startswith(PREWARM)
        assert (others[-1]["response"]["output"], pair.chat.asks) == ([], [])
        await client.ask(model="chat", input="Go on", previous_response_id=others[-1]["response"]["id"])
    [ask] = pair.chat.asks
    assert [message["content"] for message in ask.body["messages"]] == ["Hi", "Go on"]


async def test_a_strict_server_refuses_no_warm_up_for_what_is_added_to_conversations() -> None:
    """The Messages API wants one that begins with the user. Codex warms up with instructions alone, or nothing."""
    with ChatUpstream() as never:
        settings = Settings(
            server=Server(strict=True),
            upstreams={"there": Upstream(via="messages", provider="anthropic", base_url=never.url)},
            models={"claude": Model(upstream="there", name="claude-sonnet-4-5")},
        )
        with serving(settings) as url:
            async with opened(url) as client:
                for given in ([], [{"role": "developer", "content": "Be brief."}]):
                    await client.id_of(model="claude", input=given, generate=False)
                [error] = await client.ask(model="claude", input=[{"role": "developer", "content": "Be brief."}])
    assert "'Continue.' was added" in error["error"]["message"]
    assert not never.asks
