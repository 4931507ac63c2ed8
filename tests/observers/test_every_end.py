"""A turn that ends by a fault of ours is counted as well."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.turns.service import TurnService
from tests.support.metrics import samples
from tests.support.serving import serving
from tests.support.websocket_server import settings_of
from tests.wire.servers import ChatUpstream, Hang
from tests.wire.sockets import opened

ENDS = "am_proxy_requests_total"


@pytest.fixture
def upstream() -> Iterator[ChatUpstream]:
    with ChatUpstream([Hang()]) as silent:
        yield silent


@pytest.fixture
def url(upstream: ChatUpstream) -> Iterator[str]:
    with serving(settings_of(upstream)) as address:
        yield address


def counted(url: str, seen: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """What the counters say, once `seen` holds of them; or what they say in the end."""
    deadline = time.monotonic() + 5
    while not seen(found := samples(httpx.get(f"{url}/metrics").text)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def over(found: dict[str, float]) -> bool:
    return found["am_proxy_turns_in_flight"] == 0


def ends(found: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(ENDS): count for name, count in found.items() if name.startswith(ENDS)}


@pytest.fixture
def _faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    async def begin(*_: Any, **__: Any) -> None:
        message = "a fault of ours"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(TurnService, "begin", begin)


FAILED = {'{finish="failed",model="none",upstream="none"}': 1}


@pytest.mark.usefixtures("_faulty")
def test_a_fault_of_ours_is_a_turn_that_failed(url: str) -> None:
    assert httpx.post(f"{url}/v1/responses", json={"model": "any", "input": "Hello"}).status_code == 500
    found = counted(url, over)
    assert (over(found), ends(found)) == (True, FAILED)


@pytest.mark.usefixtures("_faulty")
async def test_on_a_websocket_as_well(url: str) -> None:
    async with opened(url) as client:
        await client.send(input="Hello")
        assert await client.closed() == 1011
    found = counted(url, over)
    assert (over(found), ends(found)) == (True, FAILED)
