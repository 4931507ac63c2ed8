"""litellm's life here: imported once and late, closed at once, one pool of connections."""

import asyncio
import gc
import subprocess
import sys
import time
from typing import Any

import pytest

from app.http_client import http_pool
from app.upstreams import litellm_chat
from app.upstreams.litellm_chat import LitellmChat
from tests.support.upstream_asks import KEY, answer_of, answers, asks, server
from tests.wire.script import says, text_turn
from tests.wire.servers import Hang, Latch, Step
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

TALKING: dict[str | None, list[Step]] = {
    None: [says("Hi"), Hang()],
    "moonshot": [says("Hi"), Hang()],
    "groq": [says("Hi"), Hang()],
    "anthropic": [*claude.begins(), *claude.text(0, "Hi"), Hang()],
    "gemini": [candidate({"text": "Hi"}), Hang()],
}


@pytest.mark.parametrize("provider", TALKING)
async def test_a_consumer_that_stops_closes_the_upstream(provider: str | None) -> None:
    with server(provider, TALKING[provider]) as upstream:
        payloads = LitellmChat(provider, api_key=KEY, base_url=upstream.url).open(asks(provider))
        await anext(payloads)
        await payloads.aclose()
        assert await asyncio.to_thread(upstream.asks[0].wait_gone)


@pytest.mark.parametrize("provider", TALKING)
@pytest.mark.parametrize("chat_turn", [True, False], ids=["in mid-stream", "before the first payload"])
async def test_a_consumer_that_is_cancelled_closes_the_upstream(provider: str | None, *, chat_turn: bool) -> None:
    with server(provider, TALKING[provider] if chat_turn else [Hang()]) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url)
        consumer = asyncio.create_task(answers(chat, asks(provider)))
        while not upstream.asks:  # noqa: ASYNC110 — the server lives in a thread of its own
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        assert await asyncio.to_thread(upstream.asks[0].wait_gone)


async def test_payloads_come_as_they_are_spoken() -> None:
    gate = Latch()
    with server(None, [says("Hel"), gate, says("lo")]) as upstream:
        payloads = LitellmChat(base_url=upstream.url).open(asks())
        assert answer_of([await anext(payloads)]) == {"text": "Hel"}
        gate.open()
        assert answer_of([await anext(payloads)]) == {"text": "lo"}
        await payloads.aclose()


async def test_connections_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", http_pool.SETTLE)
    with server(None, text_turn("Hi")) as upstream:
        for key in ("a", "b", "c"):
            _, problem = await answers(LitellmChat(api_key=key, base_url=upstream.url), asks())
            assert problem is None
            await asyncio.sleep(3 * http_pool.SETTLE)
        assert (len(upstream.asks), upstream.connections) == (3, 1)


async def test_many_asks_at_a_time_do_not_mix() -> None:
    def script(ask: Any) -> list[Step]:
        return list(text_turn(ask.body["model"]))

    with server(None, script) as upstream:
        chat = LitellmChat(base_url=upstream.url)
        result = await asyncio.gather(*(answers(chat, asks() | {"model": f"m{index}"}) for index in range(20)))
    assert [answer_of(chunks)["text"] for chunks, _ in result] == [f"m{index}" for index in range(20)]


def test_litellm_is_imported_late_once_and_without_holding_up_the_loop() -> None:
    """In a process of its own: here it is imported already."""
    program = """
import asyncio, sys, time, os
from app.http_client import http_pool
from app.upstreams import litellm_chat
from app.upstreams.litellm_chat import LitellmChat
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream
from tests.support.upstream_asks import answers, asks

assert "litellm" not in sys.modules and "openai" not in sys.modules
imports = []
real = litellm_chat.import_module
litellm_chat.import_module = lambda name: (imports.append(name), real(name))[1]

async def dropped():
    pass

dropped.__qualname__ = "BaseLLMHTTPHandler.acompletion_stream_function"

async def main():
    longest = 0.0
    ticking = True
    async def tick():
        nonlocal longest
        while ticking:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - before)
    ticker = asyncio.create_task(tick())
    before = time.monotonic()
    await asyncio.to_thread(litellm_chat.warm)
    stalled, warming = longest, time.monotonic() - before
    with ChatUpstream(text_turn("Hi")) as upstream:
        chat = LitellmChat(base_url=upstream.url)
        told = await asyncio.gather(*(answers(chat, asks()) for _ in range(5)))
    ticking = False
    await ticker
    await litellm_chat.close_connections()
    assert [problem for _, problem in told] == [None] * 5, told
    assert imports.count("litellm") == 1, imports
    assert stalled < warming / 2, (stalled, warming)
    dropped()  # so litellm leaves one behind where it is cancelled at the wrong moment
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"

asyncio.run(main())
print("fine")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout, run.stderr, run.returncode) == ("fine\n", "", 0)


async def test_a_warmed_litellm_is_left_alone_by_the_collector() -> None:
    """A full collection over all it loads would stop the server for a fifth of a second."""
    before = gc.get_freeze_count()
    await asyncio.to_thread(litellm_chat.warm)
    assert gc.get_freeze_count() > max(before, 100_000)


def test_what_litellm_loads_is_never_traversed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is put aside before the collector works again: its first step would walk through all that was loaded."""
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(gc, "freeze", lambda: seen.append(("freeze", gc.isenabled())))
    monkeypatch.setattr(gc, "collect", lambda *_: seen.append(("collect", gc.isenabled())))
    litellm_chat.warm()
    assert (seen, gc.isenabled()) == ([("freeze", False)], True)


async def test_asks_that_come_before_litellm_is_there_wait_for_one_import(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = litellm_chat.load()
    imports: list[str] = []

    def importing(name: str) -> Any:
        imports.append(name)
        time.sleep(0.05)
        return litellm

    monkeypatch.setattr(litellm_chat, "_loaded", [])
    monkeypatch.setattr(litellm_chat, "import_module", importing)
    with server(None, text_turn("Hi")) as upstream:
        chat = LitellmChat(base_url=upstream.url)
        assert await chat.dropped(asks(user="u")) == []
        result = await asyncio.gather(*(answers(chat, asks()) for _ in range(4)))
    handlers = "litellm.llms.custom_httpx"
    assert imports == ["litellm", f"{handlers}.http_handler", f"{handlers}.aiohttp_transport"]
    assert [answer_of(chunks)["text"] for chunks, _ in result] == ["Hi"] * 4
