"""Turns are shown to their callers only, and looking at them costs other callers little."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

import httpx
import pytest

from app.inspector.routes import MOST_OF_ONE
from app.settings import Key, Server, Settings
from tests.support.serving import serving

PAGE: Final = "https://page.example"
LISTED: Final = "https://listed.example"
DATA: Final = ["rows", "turns/1", "turns/99", "turns/1/live", "sessions/1", "sessions/99", "found?text=Hi"]


def status(url: str, path: str, headers: dict[str, str]) -> int:
    with httpx.stream("GET", f"{url}/inspector/{path}", headers=headers, timeout=10) as answer:
        return answer.status_code


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5, cors_origins=(LISTED,)))) as address:
        httpx.post(f"{address}/v1/responses", json={"model": "demo", "input": "Hi"}).raise_for_status()
        yield address


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", DATA)
def test_a_page_of_another_origin_learns_nothing_not_even_which_turns_there_are(url: str, path: str, site: str) -> None:
    """A browser tells such a page nothing, but lets it measure the time, and tell a 200 from a 404."""
    sent = {"sec-fetch-site": site}
    assert status(url, path, sent) == status(url, path, {**sent, "origin": PAGE}) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "cross-site", "origin": LISTED},
    ],
    ids=["no browser", "its own page", "an address that was typed", "a listed page"],
)
def test_others_see_turns(url: str, headers: dict[str, str]) -> None:
    assert [status(url, path, headers) for path in DATA] == [404 if path.endswith("99") else 200 for path in DATA]


@pytest.mark.parametrize(
    ("version", "header"),
    [
        ("1.0", ""),
        *(
            ("1.1", name)
            for name in (
                "forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-anything", "x-real-ip",
                "x-client-ip", "true-client-ip", "cf-connecting-ip",
            )
        ),
    ],
)  # fmt: skip
def test_what_a_proxy_passes_on_sees_no_turns_that_nobody_asked_to_be_kept(
    unset: tuple[str, int], version: str, header: str
) -> None:
    """By default nginx adds no header, and asks in HTTP/1.0."""
    lines = [f"GET /inspector/turns/1 HTTP/{version}", f"Host: {unset[0]}:{unset[1]}", "Connection: close"]
    with socket.create_connection(unset, timeout=10) as client:
        client.sendall("\r\n".join([*lines, *([f"{header}: 203.0.113.5"] if header else []), "", ""]).encode())
        assert b" 404 " in client.makefile("rb").readline()


def test_the_same_request_sees_turns_without_a_proxy(unset: tuple[str, int]) -> None:
    assert status(f"http://{unset[0]}:{unset[1]}", "turns/1", {}) == 200


@pytest.fixture(scope="module")
def unset() -> Iterator[tuple[str, int]]:
    """The place of a server that keeps turns because nothing says otherwise."""
    with serving(Settings()) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "Hi"}).raise_for_status()
        parts = urlsplit(url)
        yield str(parts.hostname), int(parts.port or 0)


def test_a_link_on_another_page_leads_to_the_inspector(url: str) -> None:
    assert httpx.get(url, headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_searches_of_one_caller_do_not_delay_others() -> None:
    """A hundred searches at once: most wait without holding anything, and too many are refused."""
    keys = tuple(Key(name=name, digest=sha256(name.encode()).digest()) for name in ("alice", "bob"))
    alice, bob = ({"authorization": f"Bearer {key.name}"} for key in keys)
    with serving(Settings(keys=keys, server=Server(watch=100))) as url:
        with httpx.Client(base_url=url, headers=alice) as client:
            for number in range(20):
                body = {"model": "demo", "input": f"{number}{'x' * 50_000}", "stream": False}
                client.post("/v1/responses", json=body).raise_for_status()
        statuses, delays = asyncio.run(_searching(url, alice, bob))
    assert set(statuses) == {200, 429}
    assert MOST_OF_ONE <= statuses[200] <= 2 * MOST_OF_ONE
    assert max(delays) < 1


async def _searching(url: str, alice: dict[str, str], bob: dict[str, str]) -> tuple[Counter[int], list[float]]:
    """What Alice's searches got, and how long each request of Bob's took meanwhile."""
    delays: list[float] = []
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
        path = "/inspector/found?text=zzz"
        searches = [asyncio.create_task(client.get(path, headers=alice)) for _ in range(100)]
        await asyncio.wait(searches, return_when=asyncio.FIRST_COMPLETED)
        while not all(search.done() for search in searches):
            began = time.perf_counter()
            await client.get(path, headers=bob)
            delays.append(time.perf_counter() - began)
        return Counter(search.result().status_code for search in searches), delays
