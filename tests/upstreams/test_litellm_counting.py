"""Tokens that litellm counts: in threads, of which no caller takes all."""

import asyncio
import threading
from typing import Any

import pytest

from app.off_loop import OWNER
from app.upstreams.litellm_chat import LitellmChat, load
from app.upstreams.port import Counted
from tests.support.upstream_asks import asks

pytestmark = pytest.mark.xdist_group("litellm")


async def test_one_owners_counts_leave_a_thread_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()

    def token_counter(*, messages: list[dict[str, Any]], **_: Any) -> int:
        return 7 if messages[-1]["content"] == "short" or may_end.wait(20) else 0

    monkeypatch.setattr(load(), "token_counter", token_counter)
    chat = LitellmChat("openai", api_key="key")

    async def count(owner: str, text: str) -> Counted | None:
        OWNER.set(owner)
        return await chat.count(asks(messages=[{"role": "user", "content": text}]))

    many = [asyncio.create_task(count("key:a", "long")) for _ in range(40)]
    await asyncio.sleep(0)
    try:
        for _ in range(3):
            assert await asyncio.wait_for(asyncio.create_task(count("key:b", "short")), 5) == Counted(7)
    finally:
        may_end.set()
    assert await asyncio.gather(*many) == [Counted(7)] * 40
