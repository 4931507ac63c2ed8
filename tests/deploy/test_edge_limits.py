"""The limits by key of the load balancers in `deploy/`: real ones, with smaller numbers, before a real copy."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import openai
import pytest

from tests.deploy.balancers import BALANCERS, balancing
from tests.support.running import running
from tests.wire.script import says, stops
from tests.wire.servers.chat import ChatUpstream
from tests.wire.servers.steps import Ask, Latch, Step

CONFIG = """
[server]
max_body_bytes = 100_000

[[keys]]
name = "alice"
value = "alice-key"

[[keys]]
name = "bob"
value = "bob-key"
"""
LOCAL = """
[upstreams.local]
via = "chat"
base_url = "{url}"

[models."*"]
upstream = "local"
"""
ASK = {"model": "demo", "input": "Hi"}
SMALL_RATE = {
    "haproxy": [("sc0_gpc0_rate ge 600", "sc0_gpc0_rate ge 6")],
    "nginx": [("rate=600r/m", "rate=1r/m"), ("burst=100", "burst=5")],
}
"""Six requests, and no further one within a minute."""
SMALL_NUMBER = {
    "haproxy": [("sc0_conn_cur gt 100", "sc0_conn_cur gt 3")],
    "nginx": [("limit_conn am_proxy_turns 100", "limit_conn am_proxy_turns 3")],
}


@contextmanager
def one_copy(balancer: str, changes: list[tuple[str, str]], folder: Path, more: str = "") -> Iterator[str]:
    """The address of a balancer with one copy behind it."""
    (folder / "config.toml").write_text(CONFIG + more)
    with running(folder=folder) as copy:
        port = httpx.URL(copy.url).port or 0
        with balancing(balancer, [port] * 3, folder, changes) as url:
            yield url


def status(url: str, authorization: str | None) -> int:
    """Of one turn, on a connection of its own."""
    headers = {} if authorization is None else {"authorization": authorization}
    return httpx.post(f"{url}/v1/responses", json=ASK, headers=headers, timeout=30).status_code


@BALANCERS
def test_a_key_has_one_rate_however_it_is_written(balancer: str, tmp_path: Path) -> None:
    written = ("Bearer alice-key", "bearer   alice-key", "BEARER  alice-key", "Bearer \talice-key")
    with one_copy(balancer, SMALL_RATE[balancer], tmp_path) as url:
        assert [status(url, written[index % 4]) for index in range(8)] == [200] * 6 + [429] * 2
        assert [status(url, each) for each in written] == [429] * 4
        assert status(url, "Bearer bob-key") == 200
        assert [status(url, None) for _ in range(8)] == [401] * 6 + [429] * 2  # without a key: by address

        refused = httpx.post(f"{url}/v1/responses", json=ASK, headers={"authorization": "Bearer alice-key"})
        assert refused.headers["content-type"] == "application/json"
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="alice-key", max_retries=0) as client,
            pytest.raises(openai.RateLimitError) as raised,
        ):
            client.responses.create(model="demo", input="Hi")
        assert raised.value.code == "rate_limit_exceeded"


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=30)


@pytest.mark.needs("haproxy")
@pytest.mark.parametrize("edge", [b"\xa0", b"\x85"])
def test_no_other_character_at_the_end_makes_another_key_of_it(edge: bytes, tmp_path: Path) -> None:
    """A copy would take it for the same key, if it removed every character that Python calls a space."""
    with (
        one_copy("haproxy", [], tmp_path) as url,
        socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as it,
    ):
        it.sendall(
            b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Authorization: Bearer alice-key" + edge + b"\r\n\r\n"
        )
        assert it.recv(100).partition(b" ")[2][:3] in {b"400", b"401"}


@pytest.mark.needs("haproxy")
def test_an_address_with_wrong_keys_is_refused_but_for_keys_that_were_right(tmp_path: Path) -> None:
    changes = [("sc1_gpc0_rate ge 60", "sc1_gpc0_rate ge 5")]
    with one_copy("haproxy", changes, tmp_path) as url:
        assert status(url, "Bearer alice-key") == 200
        assert [status(url, f"Bearer wrong-{index}") for index in range(7)] == [401] * 5 + [429] * 2
        assert status(url, "Bearer alice-key") == 200
        assert status(url, "Bearer bob-key") == 429  # not seen before: it could be one more guess


@pytest.mark.needs("haproxy")
def test_a_wrong_key_is_not_taken_for_a_right_one_because_a_page_needs_none(tmp_path: Path) -> None:
    changes = [("sc1_gpc0_rate ge 60", "sc1_gpc0_rate ge 2")]
    with one_copy("haproxy", changes, tmp_path) as url:
        open_page = httpx.get(f"{url}/health/live", headers={"authorization": "Bearer wrong-9"})
        assert open_page.status_code == 200
        assert [status(url, f"Bearer wrong-{index}") for index in (1, 2, 9)] == [401, 401, 429]


@BALANCERS
def test_a_key_has_so_many_turns_at_once(balancer: str, tmp_path: Path) -> None:
    end = Latch()

    def waits(ask: Ask) -> list[Step]:
        return [says("One "), *([end] if ask.body["model"] == "slow" else []), stops()]

    with ChatUpstream(waits) as upstream, ExitStack() as stack:
        url = stack.enter_context(one_copy(balancer, SMALL_NUMBER[balancer], tmp_path, LOCAL.format(url=upstream.url)))
        alice = {"authorization": "Bearer alice-key"}
        streams = []
        for _ in range(3):
            stream = stack.enter_context(
                httpx.stream(
                    "POST", f"{url}/v1/responses", json={**ASK, "stream": True, "model": "slow"}, headers=alice
                )
            )
            assert stream.status_code == 200
            streams.append(stream.iter_lines())
            assert next(streams[-1]) == "event: response.created"
        assert status(url, "Bearer alice-key") == 429
        assert status(url, "Bearer bob-key") == 200
        end.open()
        assert ["event: response.completed" in list(lines) for lines in streams] == [True] * 3
        assert status(url, "Bearer alice-key") == 200
