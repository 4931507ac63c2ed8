"""Chat servers spoken to directly, on real sockets."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.http_client import http_pool
from app.http_client.proxies import proxy_for
from app.upstreams import response_body
from tests.support.http_chat import direct, read_answer
from tests.support.upstream_asks import KEY, TOOLS, answer_of, answers, asks
from tests.wire.script import counts, delta, says, stops, text_turn
from tests.wire.servers import Ask, ChatUpstream, End, Hang, Latch, Pause, Status, Step

Json = dict[str, Any]


async def until(happened: Callable[[], bool]) -> None:
    while not happened():  # noqa: ASYNC110 — it happens in another thread
        await asyncio.sleep(0.005)


async def test_every_chunk_is_passed_on_as_it_came() -> None:
    """Whatever a server says beyond what we know today is there for the dialect to read."""
    script = [delta(content="Hi", mood="good", logprobs={"content": [{"token": "Hi", "logprob": -0.1}]}), stops()]
    assert await read_answer(*script) == (script, None)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([], {}),
        ([says("Hi")], {"text": "Hi"}),
        ([says("Hi"), End()], {"text": "Hi"}),
        ([says("Hi"), stops(), End()], {"text": "Hi", "finish": "stop"}),
        (
            [b'data:{"choices":[{"delta":{"con', Pause(0.01), b'tent":"Hi"}}]}\n\n: ping\n\n', stops()],
            {"text": "Hi", "finish": "stop"},
        ),
        (['data: {"choices":[{"delta":{"content":"é'.encode()[:-1], Pause(0.01), b'\xa9"}}]}\n\n'], {"text": "é"}),
        ([says("data: [DONE]\n\n\u2028"), stops()], {"text": "data: [DONE]\n\n\u2028", "finish": "stop"}),
    ],
)  # fmt: skip
async def test_a_stream_is_read_as_it_was_sent(script: list[Step], expected: Json) -> None:
    """One without a reason for its end must not look finished."""
    chunks, problem = await read_answer(*script)
    assert (answer_of(chunks), problem) == (expected, None)


async def test_a_whole_answer_is_read_as_the_one_chunk_it_amounts_to() -> None:
    """Some servers do not stream although they are asked to."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
    chunks, problem = await read_answer(Status(200, body), tools=TOOLS)
    assert problem is None
    assert answer_of(chunks) == {
        "text": "Hi",
        "calls": [[0, "c1", "weather", "{}"]],
        "finish": "tool_calls",
        "usage": usage,
    }


async def test_the_server_sees_the_ask_as_it_is_and_nothing_that_is_not_its_business() -> None:
    ask = asks(tools=TOOLS, temperature=0.5, user="u", response_format={"type": "json_object"}, max_tokens=5)
    with ChatUpstream(text_turn("Hi")) as upstream:
        async with direct(upstream.url) as chat:
            await answers(chat, ask)
    (asked,) = upstream.asks
    assert asked.body == ask
    assert asked.headers == {
        "host": f"127.0.0.1:{upstream.port}",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
        "content-length": str(len(asked.raw)),
        "user-agent": "am-proxy",
    }


async def test_without_a_key_none_is_sent() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream:
        async with direct(upstream.url, api_key=None) as chat:
            await answers(chat, asks())
    assert "authorization" not in upstream.asks[0].headers


async def test_a_body_is_shaped_for_its_server() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream:
        async with direct(upstream.url, max_tokens_field="max_completion_tokens") as chat:
            await answers(chat, asks(max_tokens=5))
    assert upstream.asks[0].body == asks(max_completion_tokens=5)


class Older(ChatUpstream):
    """A server that does not know `stream_options`."""

    def faults(self, ask: Ask) -> list[str]:
        """Say so."""
        return ["Unrecognized request argument supplied: stream_options"] if "stream_options" in ask.body else []


async def test_a_server_that_refuses_stream_options_is_asked_without_from_then_on() -> None:
    with Older(text_turn("Hi")) as upstream:
        upstream.may_violate = True
        async with direct(upstream.url) as chat:
            result = [answer_of((await answers(chat, asks()))[0])["text"] for _ in range(2)]
    assert result == ["Hi", "Hi"]
    assert [ask.body.get("stream_options") for ask in upstream.asks] == [{"include_usage": True}, None, None]


async def test_the_key_does_not_follow_a_redirect() -> None:
    with ChatUpstream(text_turn("Hi")) as elsewhere:
        moved = Status(307, b"", {"location": f"{elsewhere.url}/chat/completions"})
        _, problem = await read_answer(moved)
    assert elsewhere.asks == []
    assert problem is not None
    assert problem.message == "The upstream failed with status 307."


async def test_cookies_are_not_kept() -> None:
    with ChatUpstream([Status(200, b"{}", {"set-cookie": "a=b"})], text_turn("Hi")) as upstream:
        async with direct(upstream.url) as chat:
            for _ in range(2):
                await answers(chat, asks())
    assert "cookie" not in upstream.asks[1].headers


@pytest.mark.parametrize(("url", "proxy"), [
    ("https://api.test/v1", "http://proxy.test:3128"),
    ("http://api.test/v1", None),
    ("https://spared.test/v1", None),
    ("https://localhost:1/v1", None),
    ("https://127.0.0.1/v1", None),
    ("https://[::1]/v1", None),
])  # fmt: skip
def test_a_proxy_of_the_environment_is_used_but_never_for_this_machine(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "spared.test")
    assert proxy_for(url) == proxy
    monkeypatch.setenv("https_proxy", "proxy.test:3128")  # as curl takes it as well
    assert proxy_for(url) == proxy


async def test_payloads_come_as_they_are_spoken() -> None:
    gate = Latch()
    with ChatUpstream([says("Hel"), gate, says("lo")]) as upstream:
        async with direct(upstream.url) as chat:
            payloads = chat.open(asks())
            assert answer_of([await anext(payloads)]) == {"text": "Hel"}
            gate.open()
            assert answer_of([await anext(payloads)]) == {"text": "lo"}
            await payloads.aclose()


async def test_comments_are_no_payloads_but_keep_the_line_open() -> None:
    pings: list[Step] = [b": ping\n\n", Pause(0.1)] * 5
    assert await read_answer(*pings, says("Hi"), patience=0.3) == ([says("Hi")], None)


async def test_the_turn_does_not_wait_for_the_end_behind_the_last_word_and_the_connection_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many servers send the end of the body some time after `[DONE]`."""
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", http_pool.SETTLE)
    monkeypatch.setattr(response_body, "DRAIN_TIMEOUT", 60)
    gates = [Latch() for _ in range(3)]
    waiting = iter(gates)

    def script(_: Ask) -> list[Step]:
        return [says("Hi"), stops(), b"data: [DONE]\n\n", next(waiting), End()]

    with ChatUpstream(script) as upstream:
        async with direct(upstream.url) as chat:
            for gate in gates:
                _, problem = await answers(chat, asks())
                assert problem is None
                gate.open()
                await asyncio.sleep(0.5)
        assert (len(upstream.asks), upstream.connections) == (3, 1)


async def test_a_body_that_never_ends_behind_the_last_word_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_body, "DRAIN_TIMEOUT", 0.05)
    with ChatUpstream([says("Hi"), stops(), b"data: [DONE]\n\n", Hang()]) as upstream:
        async with direct(upstream.url) as chat:
            _, problem = await answers(chat, asks())
            assert problem is None
            assert await asyncio.to_thread(upstream.asks[0].wait_gone, 1)


async def test_many_asks_at_a_time_do_not_mix_nor_wait_for_each_other() -> None:
    """More than the hundred connections that are the client library's own limit."""
    gate = Latch()

    def script(ask: Ask) -> list[Step]:
        return [gate, *text_turn(ask.body["model"])]

    with ChatUpstream(script) as upstream:
        async with direct(upstream.url) as chat:
            running = [asyncio.create_task(answers(chat, asks() | {"model": f"m{index}"})) for index in range(150)]
            await until(lambda: len(upstream.asks) == 150)
            gate.open()
            result = await asyncio.gather(*running)
    assert [answer_of(chunks)["text"] for chunks, _ in result] == [f"m{index}" for index in range(150)]


@pytest.mark.parametrize(
    "script", [[says("Hi"), Hang()], [says("Hi"), *[says("!")] * 5000, Hang()]], ids=["quiet", "busy"]
)
async def test_a_consumer_that_stops_closes_the_upstream(script: list[Step], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_body, "DRAIN_TIMEOUT", 60)  # a task that is still reading has no such time
    with ChatUpstream(script) as upstream:
        async with direct(upstream.url) as chat:
            payloads = chat.open(asks())
            await anext(payloads)
            await payloads.aclose()
            assert await asyncio.to_thread(upstream.asks[0].wait_gone)


@pytest.mark.parametrize("script", [[says("Hi"), Hang()], [Hang()]], ids=["in mid-stream", "before the head"])
async def test_a_consumer_that_is_cancelled_closes_the_upstream(
    script: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_body, "DRAIN_TIMEOUT", 60)  # a task that is still reading has no such time
    with ChatUpstream(script) as upstream:
        async with direct(upstream.url) as chat:
            consumer = asyncio.create_task(answers(chat, asks()))
            await until(lambda: bool(upstream.asks))
            await asyncio.sleep(0.05)
            consumer.cancel()
            with pytest.raises(asyncio.CancelledError):
                await consumer
            assert await asyncio.to_thread(upstream.asks[0].wait_gone)


async def test_it_can_be_closed_and_used_again() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream:
        async with direct(upstream.url) as chat:
            for _ in range(2):
                assert (await answers(chat, asks()))[1] is None
                await chat.close()


async def test_usage_is_reported_as_it_came() -> None:
    chunks, _ = await read_answer(says("Hi"), stops(), counts(3, 4, cached=2, reasoning=1))
    assert answer_of(chunks)["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
