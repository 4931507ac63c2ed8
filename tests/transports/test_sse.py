"""Events as bytes: what comes at once is sent at once."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from app.upstreams.demo import Demo
from tests.support.serving import serving
from tests.wire.grammar import check

ASK = {"model": "demo", "input": "Hi", "stream": True}


def events_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def playing(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> None:
    async def play(_demo: Demo, _ask: dict[str, Any]) -> AsyncGenerator[Any]:
        for step in steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step

    monkeypatch.setattr(Demo, "open", play)


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def test_one_batch_is_one_send(monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, *[says("a")] * 20, STOP)
    with serving() as url, httpx.stream("POST", f"{url}/v1/responses", json=ASK) as answer:
        pieces = list(answer.iter_raw())
    check(events_of(b"".join(pieces).decode()))
    assert all(piece.endswith(b"\n\n") for piece in pieces)
    assert len(pieces) < 20
