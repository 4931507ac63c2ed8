"""However a turn ends, each observer gets it, and once."""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from app.turns.service import TurnService
from tests.support.metrics import samples
from tests.support.raw import send_raw
from tests.support.script import counts, opens, says
from tests.support.servers import ChatUpstream, Cut, Hang
from tests.support.serving import serving
from tests.support.sockets import opened
from tests.support.websocket_server import settings_of

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


def running(found: dict[str, float]) -> bool:
    return found["am_proxy_turns_in_flight"] == 1


def over(found: dict[str, float]) -> bool:
    return found["am_proxy_turns_in_flight"] == 0


def ends(found: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(ENDS): count for name, count in found.items() if name.startswith(ENDS)}


async def test_a_client_that_leaves_its_websocket_before_the_first_word_has_disconnected(url: str) -> None:
    async with opened(url) as client:
        await client.send(input="Hello")
        assert running(counted(url, running))
    found = counted(url, over)
    assert (over(found), ends(found)) == (True, {'{finish="disconnected",model="*",upstream="scripted"}': 1})


@pytest.mark.parametrize("stream", [b"true", b"false"])
def test_so_has_one_that_leaves_its_request(url: str, stream: bytes) -> None:
    body = b'{"model": "any", "input": "Hello", "stream": %s}' % stream
    head = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0)) as client:
        client.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        assert running(counted(url, running))
    found = counted(url, over)
    assert (over(found), ends(found)) == (True, {'{finish="disconnected",model="*",upstream="scripted"}': 1})


def test_so_has_one_that_leaves_while_it_says_what_it_wants(url: str) -> None:
    head = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    send_raw(url, head + b"content-length: 100\r\n\r\n{", wait=0.1)
    found = counted(url, lambda found: over(found) and ends(found) != {})
    assert (over(found), ends(found)) == (True, {'{finish="disconnected",model="none",upstream="none"}': 1})


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_breaks_off_has_failed_and_its_tokens_are_counted(*, stream: bool) -> None:
    with ChatUpstream([opens(), says("Half"), counts(7, 5), Cut()]) as upstream, serving(settings_of(upstream)) as url:
        body = {"model": "any", "input": "Hello", "stream": stream}
        assert httpx.post(f"{url}/v1/responses", json=body).status_code == (200 if stream else 502)
        found = counted(url, over)
    assert ends(found) == {'{finish="failed",model="*",upstream="scripted"}': 1}
    tokens = "gen_ai_client_token_usage_sum"
    assert [count for name, count in found.items() if name.startswith(tokens)] == [7, 5]
    assert {name: count for name, count in found.items() if "upstream_errors_total" in name or "rejected" in name} == {
        'am_proxy_upstream_errors_total{code="upstream_error",upstream="scripted"}': 1
    }


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
