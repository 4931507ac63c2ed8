"""Who may open a websocket: refused before the upgrade, with an HTTP answer."""

import json
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.raw import send_raw
from tests.wire.configuration import Key, Server, Settings
from tests.wire.program import serving
from tests.wire.sockets import opened, text_of

ALICE = Key(name="alice", value="sk-alice", models=["demo"])


async def refused(url: str, headers: dict[str, str] | None = None, path: str = "/v1/responses") -> tuple[int, str]:
    """The HTTP status and code with which the upgrade is refused."""
    with pytest.raises(InvalidStatus) as refusal:
        async with opened(url, headers, path=path):
            pass
    response = refusal.value.response
    assert response.headers["x-request-id"]
    assert response.headers["content-type"] == "application/json"
    return response.status_code, json.loads(bytes(response.body or b""))["error"]["code"]


@pytest.fixture
def guarded() -> Iterator[str]:
    with serving(Settings(keys=[ALICE])) as url:
        yield url


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer sk-bob"}, {"Authorization": "Basic sk-alice"}])
async def test_the_key_is_asked_for_before_the_upgrade(guarded: str, headers: dict[str, str]) -> None:
    assert await refused(guarded, headers) == (401, "invalid_api_key")


async def test_a_key_opens_it_and_its_models_alone(guarded: str) -> None:
    async with opened(guarded, {"Authorization": "Bearer sk-alice"}) as client:
        assert client.connection.response is not None
        assert client.connection.response.headers["x-request-id"]
        assert await client.refusal(model="gpt-5", input="x") == (404, "model_not_found", "model")
        assert text_of(await client.ask(model="demo", input="Hello!"))


def test_two_authorization_headers_are_one_too_many(guarded: str) -> None:
    head = (
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n"
        b"Authorization: Bearer sk-alice\r\nAuthorization: Bearer sk-alice\r\n\r\n"
    )
    assert send_raw(guarded, head).status == 401


async def test_pages_of_other_origins_stay_outside() -> None:
    with serving() as url:
        assert await refused(url, {"Origin": "https://evil.example"}) == (403, "origin_not_allowed")
        async with opened(url, {"Origin": url}) as client:  # as the websocket-client package sends it
            assert text_of(await client.ask(model="demo", input="Hello!"))


async def test_where_it_is_turned_off_there_is_a_426_at_once() -> None:
    with serving(Settings(server=Server(websocket=False))) as url:
        assert await refused(url) == (426, "upgrade_required")


@pytest.mark.parametrize("path", ["/", "/v1/realtime", "/v1/responses/resp_1"])
async def test_elsewhere_there_is_none(guarded: str, path: str) -> None:
    assert await refused(guarded, path=path) == (404, "not_found")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://a]b"])
async def test_an_origin_that_is_no_url_is_refused_like_a_foreign_one(guarded: str, origin: str) -> None:
    headers = {"Authorization": "Bearer sk-alice", "Origin": origin}
    assert await refused(guarded, headers) == (403, "origin_not_allowed")
