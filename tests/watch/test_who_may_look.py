"""Turns are shown to their own callers only, and to nobody whom the operator does not expect."""

import socket
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import urlsplit

import httpx
import pytest

from tests.deploy.program import Server, started
from tests.watch.looking import Looker

DATA = ["feed", "turns/1", "turns/99", "conversations/1", "found?text=Hi"]
DEMO = '[upstreams.demo]\nvia = "demo"\n[models."*"]\nupstream = "demo"\n'
KEYS = "".join(
    f'[[keys]]\nname = "{name}"\nsha256 = "{sha256(name.encode()).hexdigest()}"\n' for name in ("alice", "bob")
)
PAGE = "https://page.example"


def status(server: Server | httpx.URL, path: str, headers: dict[str, str] | None = None) -> int:
    root = server.url.removesuffix("/v1") if isinstance(server, Server) else server
    with httpx.stream("GET", f"{root}/inspector/{path}", headers=headers, timeout=10) as answer:
        return answer.status_code


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server as it starts by default, with one turn."""
    with started(tmp_path_factory.mktemp("plain")) as server:
        Looker(server).post("Hi")
        yield server


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that a page of another origin may use, with one turn."""
    more = f'[server]\nwatch = 5\ncors_origins = ["{PAGE}"]\n'
    with started(tmp_path_factory.mktemp("listed"), more + DEMO) as server:
        Looker(server).post("Hi")
        yield server


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_origin_learns_nothing_not_even_which_turns_there_are(plain: Server, site: str) -> None:
    """A browser tells such a page nothing, but lets it measure the time, and tell a 200 from a 404."""
    for headers in ({"sec-fetch-site": site}, {"sec-fetch-site": site, "origin": PAGE}):
        assert {status(plain, path, headers) for path in DATA} == {403}


def test_its_own_page_programs_and_listed_pages_see_turns(plain: Server, listed: Server) -> None:
    expected = [404 if path.endswith("99") else 200 for path in DATA]
    for headers in ({}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert [status(plain, path, headers) for path in DATA] == expected
    headers = {"sec-fetch-site": "cross-site", "origin": PAGE}
    assert [status(listed, path, headers) for path in DATA] == expected
    assert httpx.get(listed.url.removesuffix("v1"), headers=headers, timeout=50).status_code == 200


@pytest.mark.parametrize("header", ["", "forwarded", "via", "x-forwarded-for", "x-real-ip", "cf-connecting-ip"])
def test_through_a_proxy_nobody_sees_turns_that_nobody_asked_to_be_kept(plain: Server, header: str) -> None:
    """By default nginx adds no header, and asks in HTTP/1.0."""
    place = urlsplit(plain.url)
    added = f"{header}: 203.0.113.5\r\n" if header else ""
    for version, code in (("1.0", b" 404 "), ("1.1", b" 404 " if header else b" 200 ")):
        head = f"GET /inspector/turns/1 HTTP/{version}\r\nhost: {place.netloc}\r\nconnection: close\r\n{added}\r\n"
        with socket.create_connection((str(place.hostname), place.port or 0), timeout=10) as client:
            client.sendall(head.encode())
            assert code in client.makefile("rb").readline()


def test_a_key_sees_its_own_turns_only(tmp_path_factory: pytest.TempPathFactory) -> None:
    guests = (
        '[upstreams.own]\nauth = "passthrough"\nbase_url = "http://127.0.0.1:9/v1"\n[models.own]\nupstream = "own"\n'
    )
    text = f"[server]\nwatch = 9\n{KEYS}{DEMO}{guests}"
    with started(tmp_path_factory.mktemp("keys"), text) as server:
        alice, bob, guest = (Looker(server, name) for name in ("alice", "bob", "sk-someone"))
        alice.post("Alice's secret")
        bob.post("Bob's")
        guest.post("Somebody's", model="own")
        bob.post("Bob's own", model=3)
        assert [row["said"] for row in alice.rows()] == ["Alice's secret"]
        assert [row["said"] for row in bob.rows()] == ["Bob's", "Bob's own"]
        assert bob.get("found?text=secret")["numbers"] == []
        bobs = {"authorization": "Bearer bob"}
        assert [status(server, path, bobs) for path in ("turns/1", "turns/2", "conversations/1")] == [404, 200, 404]
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer sk-someone"}):
            assert {status(server, path, headers) for path in DATA} == {401}
        assert alice.get("turns/1")["asks"] != []
        about = httpx.get(server.url.replace("v1", "inspector/about"), timeout=50).json()
        assert (about["key"], "upstreams" in about) == ("needed", False)
        with bob.feed() as told:
            assert next(told)["kept"] == [2, 3]
            server.reload(text.replace('"bob"', '"rob"').replace(sha256(b"bob").hexdigest(), "0" * 64))
            alice.post("Hi")
            assert list(told) == []  # it does not outlive the key


def test_where_nothing_is_kept_the_page_says_how_to_keep_turns(tmp_path_factory: pytest.TempPathFactory) -> None:
    with started(tmp_path_factory.mktemp("none"), f"[server]\nwatch = 0\n{DEMO}") as server:
        Looker(server).post("Hi")
        root = server.url.removesuffix("/v1")
        assert "watch = 200" in httpx.get(f"{root}/inspector/feed", timeout=50).json()["error"]["message"]
        assert httpx.get(root, timeout=50).text.startswith("<!doctype html>")


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing_inline(plain: Server) -> None:
    root = plain.url.removesuffix("/v1")
    page = httpx.get(root, timeout=50)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert all(word not in page.text for word in ("<script>", "onclick", "style=", "//"))
    assert httpx.head(root).status_code == 200
    for path in ("/inspector/main.js", "/inspector/style.css"):
        assert httpx.get(root + path, timeout=50).headers["content-security-policy"] == policy
    for path in ("/inspector/../routes.py", "/inspector/%2e%2e/routes.py", "/inspector/routes.py"):
        assert httpx.get(root + path, timeout=50).status_code == 404
