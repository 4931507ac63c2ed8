"""Pages come in only where they are listed, and only under a name that is ours."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Server, Settings
from tests.wire.program import serving

EVERYWHERE = "0.0.0.0"  # noqa: S104 — the rules of such a server are looked at
PAGE = "https://page.example"
ASKING = {"access-control-request-method": "POST", "access-control-request-headers": "authorization, content-type"}
ASKED = {"model": "demo", "input": "Hi"}


def open_to(*origins: str, hosts: tuple[str, ...] = (), host: str = "127.0.0.1") -> str:
    return Settings(server=Server(host=host, cors_origins=origins, allowed_hosts=hosts, insecure_no_auth=True))


@pytest.fixture
def url() -> Iterator[str]:
    """A server that lets one page in, and has one name more."""
    with serving(open_to(PAGE, hosts=("proxy.example.com",))) as url:
        yield url


def test_a_listed_page_may_ask_and_read_without_a_key_for_the_asking(url: str) -> None:
    asking = httpx.options(f"{url}/v1/responses", headers={"origin": PAGE, **ASKING})
    assert asking.status_code == 204
    names = [name for name in asking.headers if name.startswith("access-control") or name == "vary"]
    assert {name: asking.headers[name] for name in names} == {
        "access-control-allow-origin": PAGE,
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers": "authorization, content-type",
        "access-control-max-age": "600",
        "vary": "origin",
    }
    for stream in (True, False):
        answer = httpx.post(f"{url}/v1/responses", json={**ASKED, "stream": stream}, headers={"origin": PAGE})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers
    assert httpx.get(f"{url}/nothing", headers={"origin": PAGE}).headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("origin", ["https://page.example.com", "http://page.example", "null", "", f"{PAGE}:443"])
def test_another_page_is_told_nothing(url: str, origin: str) -> None:
    asking = httpx.options(f"{url}/v1/responses", headers={"origin": origin, **ASKING})
    assert (asking.status_code, asking.json()["error"]["code"]) == (403, "origin_not_allowed")
    answer = httpx.get(f"{url}/v1/models", headers={"origin": origin})
    assert not [name for name in (*asking.headers, *answer.headers) if name.startswith("access-control")]
    assert answer.headers["vary"] == "origin"


def test_without_origins_no_page_may_ask() -> None:
    with serving(open_to()) as url:
        asking = httpx.options(f"{url}/v1/responses", headers={"origin": PAGE, **ASKING})
        answer = httpx.post(f"{url}/v1/responses", json=ASKED, headers={"origin": PAGE})
    assert asking.status_code == 405
    assert not [name for name in (*asking.headers, *answer.headers) if name.startswith("access-control")]


def test_a_page_that_does_not_ask_cannot_send_json(url: str) -> None:
    """What a browser sends unasked is a form or text; an empty type is none of ours either."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = httpx.post(f"{url}/v1/responses", content=b"{}", headers={"origin": PAGE, "content-type": kind})
        assert answer.status_code == 415


def test_every_page_may_come_where_a_star_says_so() -> None:
    with serving(open_to("*")) as url:
        asking = httpx.options(f"{url}/v1/responses", headers={"origin": "https://any.example", **ASKING})
    assert (asking.status_code, asking.headers["access-control-allow-origin"]) == (204, "https://any.example")
    assert "access-control-allow-credentials" not in asking.headers


def test_a_page_cannot_smuggle_headers_into_the_permission(url: str) -> None:
    asking = httpx.options(f"{url}/v1/responses", headers={"origin": PAGE, **ASKING} | {ASKING_FOR: "a;b=<c>"})
    assert asking.status_code == 204
    assert "access-control-allow-headers" not in asking.headers


ASKING_FOR = "access-control-request-headers"

OURS = ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "localhost.", "[::1]", "[::1]:8080", "127.8.9.1"]
OTHERS = [
    *("evil.example", "evil.example:8080"),
    *("127.0.0.1.evil.example", "localhost.evil.example", "localhost@evil.example"),
    *("evil.example/localhost", "", "[::1", "192.168.0.1", EVERYWHERE, "10.0.0.1:80", "localhost:80:80", "a b", "*"),
]


@pytest.mark.parametrize("host", [*OURS, "proxy.example.com", "Proxy.Example.Com:8080"])
def test_a_host_of_ours_is_served(url: str, host: str) -> None:
    assert httpx.post(f"{url}/v1/responses", json=ASKED, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/models", "/health/live", "/openapi.json", "/nothing"])
@pytest.mark.parametrize("host", OTHERS)
def test_another_host_is_not_served_whatever_it_asks_for(url: str, host: str, path: str) -> None:
    """A page's own name may be made to lead to this machine after the page was loaded."""
    answer = httpx.get(f"{url}{path}", headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")
    assert host == "" or len(host) < 4 or host not in answer.text


@pytest.mark.parametrize(
    ("server", "host", "status"),
    [
        ({}, "127.0.0.2", 200),
        ({"host": "localhost"}, "evil.example", 421),
        ({"hosts": ("*",)}, "evil.example", 200),
        ({"host": EVERYWHERE}, "any.example", 200),
        ({"host": EVERYWHERE, "hosts": ("proxy.example.com",)}, "any.example", 421),
        ({"host": EVERYWHERE, "hosts": ("proxy.example.com",)}, "proxy.example.com", 200),
        ({"host": EVERYWHERE, "hosts": ("proxy.example.com",)}, "127.0.0.1", 200),
    ],
)
def test_which_hosts_are_ours_depends_on_where_the_server_listens(server: Any, host: str, status: int) -> None:
    with serving(open_to(**server)) as url:
        assert httpx.get(f"{url}/health/live", headers={"host": host}).status_code == status


def test_a_strange_host_breaks_nothing_where_every_host_is_welcome() -> None:
    with serving(open_to(hosts=("*",))) as url:
        for host in ("[::1", "a b", "evil.example/x?y#z", "http://evil.example"):
            answer = httpx.get(f"{url}/nothing", headers={"host": host})
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/v1/models/", "/health/live/", "/v1/responses//", "//evil.example/v1/models"])
def test_nobody_is_sent_elsewhere(url: str, path: str) -> None:
    """A redirect would lead to whatever the Host header says."""
    answer = httpx.get(f"{url}{path}", headers={"host": "proxy.example.com"})
    assert not answer.is_redirect
    assert "location" not in answer.headers
