"""What one caller does is not told as an upstream's failure, and what failed is left alone."""

import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.support.metrics import samples
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import own_program, serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, GeminiUpstream, ResponsesUpstream, Status
from tests.wire.servers.gemini import answers as candidate

CODE = "unsupported_value"
POISON: dict[str, Any] = {
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": True}}}],
}


def settings(*upstreams: dict[str, Any], **more: Any) -> str:
    """The model `m` with these upstreams, in this order."""
    names = {f"u{number}": upstream for number, upstream in enumerate(upstreams)}
    return Settings(upstreams=names, models={"m": Model(upstreams=list(names))}, **more)


def ask(url: str, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
    body = {"model": "m", "input": "Hi", **body}
    return httpx.post(f"{url}/v1/responses", json=body, headers=headers, timeout=50)


def test_the_breaker_of_a_server_that_is_not_there_opens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        there = Upstream(via="chat", base_url=address, breaker_failures=3)
        with serving(settings(there), fresh=True) as url:
            assert [ask(url).status_code for _ in range(4)] == [502] * 3 + [503]


class Translating(NamedTuple):
    url: str
    gemini: GeminiUpstream
    chat: ChatUpstream


@pytest.fixture(scope="module")
def translating() -> Iterator[Translating]:
    """A server that asks Gemini over litellm, may ask a chat server instead, and takes all other names to Azure."""
    gemini_says = [candidate({"text": "Hi"}, finishReason="STOP")]
    with GeminiUpstream(gemini_says) as gemini, ChatUpstream(text_turn("Hi")) as chat:
        upstreams = {
            "gemini": Upstream(via="litellm", provider="gemini", base_url=gemini.url, breaker_failures=2),
            "chat": Upstream(via="chat", base_url=chat.url),
            "azure": Upstream(via="litellm", provider="azure", base_url="http://127.0.0.1:1", api_key="k"),
        }
        models = {
            "gemini": Model(upstream="gemini", name="gemini-2.5-flash"),
            "gemini, or chat": Model(upstreams=["gemini", "chat"], name="gemini-2.5-flash"),
            "*": Model(upstream="azure"),
        }
        with serving(Settings(upstreams=upstreams, models=models), fresh=True) as url:
            yield Translating(url, gemini, chat)


def test_what_litellm_cannot_translate_is_the_requests_fault_and_nobodys_else(translating: Translating) -> None:
    for _ in range(3):
        refused = ask(translating.url, model="gemini", **POISON)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, CODE)
        assert "JSON Schema of a tool" in refused.json()["error"]["message"]
    assert translating.gemini.asks == []
    assert ask(translating.url, model="gemini").status_code == 200


def test_what_litellm_cannot_translate_may_be_said_by_another_upstream(translating: Translating) -> None:
    asked = len(translating.gemini.asks)
    assert ask(translating.url, model="gemini, or chat", **POISON).status_code == 200
    assert (len(translating.gemini.asks), len(translating.chat.asks)) == (asked, 1)


@pytest.mark.parametrize("name", ["m\x7f", "http://127.0.0.1:1/v1", "gemini/../../x", "..", "a\r\nb", " m"])
def test_a_name_that_no_address_can_hold_is_an_unknown_model(translating: Translating, name: str) -> None:
    refused = ask(translating.url, model=name)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")


def test_an_upstream_that_takes_its_callers_keys_is_asked_once_more_as_well() -> None:
    with ChatUpstream([Status(503)], text_turn("Hi")) as upstream:
        with serving(settings(Upstream(via="chat", base_url=upstream.url, auth="passthrough"))) as url:
            assert ask(url, {"authorization": "Bearer my-own"}).status_code == 200
        assert len(upstream.asks) == 2


def test_an_upstream_that_was_left_alone_is_not_charged_with_an_error() -> None:
    with ChatUpstream([Status(503)]) as upstream:
        there = Upstream(via="chat", base_url=upstream.url, breaker_failures=1, retries=0)
        with serving(settings(there, server=Server(metrics="open")), fresh=True) as url:
            assert [ask(url).status_code for _ in range(3)] == [502, 503, 503]
            found = samples(httpx.get(f"{url}/metrics", timeout=50).text)
    errors = {name: value for name, value in found.items() if "upstream_errors_total" in name}
    assert errors == {'am_proxy_upstream_errors_total{code="upstream_error",upstream="u0"}': 1}


def test_an_upstream_that_was_not_asked_is_not_named() -> None:
    """The second cannot be told of the request; or is asked, and has no search of its own as the first has."""
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        upstreams = (Upstream(via="responses", base_url=first.url), Upstream(via="chat", base_url=second.url))
        image = {"type": "input_image", "file_id": "file_1"}
        with own_program(settings(*upstreams)) as program:
            pictured = ask(program.url, input=[{"role": "user", "content": [image]}])
            searching = ask(program.url, tools=[{"type": "web_search"}])
            lines = [program.turn(answer.headers["x-request-id"]) for answer in (pictured, searching)]
        assert [(line["upstream"], line["finish"]) for line in lines] == [("u0", "refused"), ("u1", "completed")]
        assert len(second.asks) == 1
        assert "web_search" in str(lines[1]["warnings"])
