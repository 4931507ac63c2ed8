"""litellm's HTTP clients send what httpx would send, with less work where a body is there and an answer streamed."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from app.upstreams.litellm_chat import load
from app.upstreams.litellm_client import lighten
from tests.support.upstream_asks import Lenient
from tests.wire.script import text_turn
from tests.wire.servers import Status

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": true}'
URL = "http://there/v1/chat/completions"
PARTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (URL, {"content": '{"a": "é"}', "headers": {"Authorization": "Bearer k", "X-One": "1"}, "timeout": 30}),
    "bytes": (URL, {"content": b"{}", "headers": {"content-type": "application/json"}, "timeout": httpx.Timeout(5)}),
    "no headers": (URL, {"content": b"{}", "headers": None, "timeout": None, "data": None, "json": None}),
    "the client's time limit": (URL, {"content": b"{}"}),
    "a key in the address": (f"{URL}?key=k&alt=sse", {"content": b"{}"}),
    "a header of the client's": (URL, {"content": b"{}", "headers": {"User-Agent": "me", "Accept": "text/plain"}}),
    "a form": (URL, {"data": {"a": "b"}}),
    "JSON": (URL, {"json": {"a": "b"}}),
    "no body": (URL, {}),
    "parameters": (URL, {"content": b"{}", "params": {"a": "b"}}),
    "a relative address": ("/models", {"content": b"{}"}),
    "an address of httpx": (httpx.URL(URL), {"content": b"{}"}),
}


def light_client() -> httpx.AsyncClient:
    """A client as litellm makes it."""
    client = load().llms.custom_httpx.http_handler.AsyncHTTPHandler().client
    assert isinstance(client, httpx.AsyncClient)
    assert type(client).__name__ == "LightClient", "litellm makes its clients in another way"
    return client


@pytest.mark.parametrize(("url", "parts"), PARTS.values(), ids=PARTS)
async def test_a_request_is_that_of_httpx(url: Any, parts: dict[str, Any]) -> None:
    async with light_client() as client:
        ours = client.build_request("POST", url, **parts)
        theirs = httpx.AsyncClient.build_request(client, "POST", url, **parts)
    assert (ours.method, ours.url, ours.read(), ours.extensions) == (
        theirs.method,
        theirs.url,
        theirs.read(),
        theirs.extensions,
    )
    assert sorted(ours.headers.multi_items()) == sorted(theirs.headers.multi_items())


@pytest.mark.parametrize(
    "step",
    ["Hi", Status(429, {"error": "busy"}, {"retry-after": "3"}), Status(302, b"", {"location": "/else"})],
    ids=str,
)
async def test_an_answer_is_that_of_httpx(step: Any) -> None:
    with Lenient([step] if isinstance(step, Status) else text_turn(step)) as upstream:
        async with light_client() as client:
            answers = []
            for send in (client.send, lambda *given, **more: httpx.AsyncClient.send(client, *given, **more)):
                request = client.build_request("POST", f"{upstream.url}/chat/completions", content=BODY)
                answer = await send(request, stream=True)
                headers = {name: value for name, value in answer.headers.items() if name != "date"}
                answers.append((answer.status_code, headers, await answer.aread(), answer.history, answer.is_closed))
                assert answer.request is request
    assert answers[0] == answers[1]


async def test_httpx_sends_what_needs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    async def send(_: Any, request: httpx.Request, **__: Any) -> httpx.Response:
        sent.append(str(request.url))
        return httpx.Response(200, request=request)

    monkeypatch.setattr(httpx.AsyncClient, "send", send)
    client = light_client()
    await client.send(client.build_request("POST", "http://whole/", content=b""))
    await client.send(client.build_request("POST", "http://u:p@there/", content=b""), stream=True)
    await client.send(client.build_request("POST", "http://auth/", content=b""), stream=True, auth=("u", "p"))
    client.event_hooks = {"request": [print]}
    await client.send(client.build_request("POST", "http://hooks/", content=b""), stream=True)
    client.event_hooks = {}
    await client.aclose()
    await client.send(client.build_request("POST", "http://closed/", content=b""), stream=True)
    assert sent == ["http://whole/", "http://u:p@there/", "http://auth/", "http://hooks/", "http://closed/"]


def test_another_litellm_is_left_alone() -> None:
    lighten(SimpleNamespace())
    lighten(SimpleNamespace(AsyncHTTPHandler=SimpleNamespace()))
