"""However a turn ends, it is counted, and once."""

import socket
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.http.websocket_server import settings_of
from tests.support.metrics import samples
from tests.wire.program import serving
from tests.wire.script import counts, opens, says
from tests.wire.servers import ChatUpstream, Cut, Hang
from tests.wire.sockets import opened

HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


ENDS = "am_proxy_requests_total"
Ended = Callable[[], dict[str, float]]


def ends(found: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(ENDS): count for name, count in found.items() if name.startswith(ENDS)}


def counted(url: str, seen: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """The samples, once `seen` holds of them: a turn is counted behind its last byte."""
    deadline = time.monotonic() + 20
    while not seen(found := samples(httpx.get(f"{url}/metrics", timeout=50).text)):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def running(found: dict[str, float]) -> bool:
    return found["am_proxy_turns_in_flight"] == 1


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server whose upstream is silent."""
    with ChatUpstream([Hang()]) as silent, serving(settings_of(silent), fresh=True) as address:
        yield address


@pytest.fixture
def ended(url: str) -> Ended:
    """What has ended since the test began, once nothing runs."""
    before = ends(counted(url, lambda _: True))

    def since() -> dict[str, float]:
        over = counted(url, lambda found: not running(found) and ends(found) != before)
        return {name: count - before.get(name, 0) for name, count in ends(over).items() if count != before.get(name)}

    return since


LEFT = {'{finish="disconnected",model="*",upstream="scripted"}': 1}


async def test_a_client_that_leaves_its_websocket_before_a_word_has_disconnected(url: str, ended: Ended) -> None:
    async with opened(url) as client:
        await client.send(input="Hello")
        counted(url, running)
    assert ended() == LEFT


@pytest.mark.parametrize("stream", [b"true", b"false"])
def test_so_has_one_that_leaves_its_request(url: str, ended: Ended, stream: bytes) -> None:
    body = b'{"model": "any", "input": "Hello", "stream": %s}' % stream
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0)) as client:
        client.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        counted(url, running)
    assert ended() == LEFT


def test_so_has_one_that_leaves_while_it_says_what_it_wants(url: str, ended: Ended) -> None:
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0)) as client:
        client.sendall(HEAD + b"content-length: 100\r\n\r\n{")
        counted(url, running)
    assert ended() == {'{finish="disconnected",model="none",upstream="none"}': 1}


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_breaks_off_has_failed_and_its_tokens_are_counted(*, stream: bool) -> None:
    with (
        ChatUpstream([opens(), says("Half"), counts(7, 5), Cut()]) as upstream,
        serving(settings_of(upstream), fresh=True) as url,
    ):
        body = {"model": "any", "input": "Hello", "stream": stream}
        assert httpx.post(f"{url}/v1/responses", json=body, timeout=50).status_code == (200 if stream else 502)
        found = counted(url, lambda found: bool(ends(found)) and not running(found))
    assert ends(found) == {'{finish="failed",model="*",upstream="scripted"}': 1}
    tokens = "gen_ai_client_token_usage_sum"
    assert sorted(count for name, count in found.items() if name.startswith(tokens)) == [5, 7]
    assert {name: count for name, count in found.items() if "upstream_errors_total" in name or "rejected" in name} == {
        'am_proxy_upstream_errors_total{code="upstream_error",upstream="scripted"}': 1
    }
