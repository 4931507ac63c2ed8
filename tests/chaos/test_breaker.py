"""What one caller does is not held against an upstream, nor told as its failure."""

import hashlib
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from app.settings import Key, Model, Settings, Upstream
from tests.support.metrics import samples
from tests.support.script import text_turn
from tests.support.servers import Ask, ChatUpstream, Cut, GeminiUpstream, Hang, ResponsesUpstream, Status
from tests.support.servers.gemini import answers as candidate
from tests.support.servers.responses import answer, message
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("litellm")
Json = dict[str, Any]
LANES = ["chat", "responses", "litellm"]
NAMES = ("alice", "bob", "carol", "mallory")
BOOM = Status(500, {"error": {"message": "Boom.", "type": "server_error", "code": 500}})
POISON = {
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": True}}}],
}


def caller(name: str) -> Key:
    return Key(name, hashlib.sha256(f"key-{name}".encode()).digest())


@contextmanager
def callers(upstreams: dict[str, Upstream], model: str = "m", **settings: Any) -> Iterator[Any]:
    """A way to ask, by the name of a caller."""
    models = {model: Model.model_validate({"upstreams": list(upstreams)})}
    keys = tuple(caller(name) for name in NAMES)
    with serving(Settings(upstreams=upstreams, models=models, keys=keys, **settings)) as url:

        def ask(name: str, text: str = "Hi", **body: Any) -> httpx.Response:
            headers = {"authorization": f"Bearer key-{name}"}
            body = {"model": model, "input": text, **body}
            return httpx.post(f"{url}/v1/responses", json=body, headers=headers, timeout=20)

        yield ask


def server(via: str, bad: list[Any]) -> ChatUpstream | ResponsesUpstream:
    """It does not answer what holds the word "picture"."""

    def script(ask: Ask) -> list[Any]:
        if "picture" in str(ask.body):
            return bad
        return [*answer(message("msg_1", "Hi"))] if via == "responses" else [*text_turn("Hi")]

    return ResponsesUpstream(script) if via == "responses" else ChatUpstream(script)


@pytest.mark.parametrize("via", LANES)
@pytest.mark.parametrize("bad", [[BOOM], [Cut()], [Status(200, b"<html></html>")]], ids=["500", "cut", "nonsense"])
def test_one_callers_picture_leaves_the_upstream_to_the_others(via: str, bad: list[Any]) -> None:
    with server(via, bad) as upstream:
        events = Upstream(via=via, base_url=upstream.url, breaker_failures=3)  # type: ignore[arg-type]
        with callers({"u": events}) as ask:
            codes = {ask("mallory", "picture").json()["error"]["code"] for _ in range(8)}
            assert (codes, ask("alice").status_code) == ({"upstream_error"}, 200)


@pytest.mark.parametrize("via", LANES)
def test_failures_of_several_callers_open_the_breaker_all_the_same(via: str) -> None:
    with server(via, [BOOM]) as upstream:
        events = Upstream(via=via, base_url=upstream.url, breaker_failures=3)  # type: ignore[arg-type]
        with callers({"u": events}) as ask:
            for name in ("alice", "bob", "carol"):
                assert ask(name, "picture").json()["error"]["code"] == "upstream_error"
            assert (ask("alice").status_code, len(upstream.asks)) == (503, 3)


def slow_or_away(ask: Ask) -> list[Any]:
    """Silent at "slow"; away for the model `unknown`, as a gateway is that has no server of that name."""
    if ask.body["model"] == "unknown":
        return [Status(503, {"error": {"message": "No channel for this model."}})]
    return [Hang()] if "slow" in str(ask.body) else [*text_turn("Hi")]


@pytest.mark.parametrize("bad", [{"text": "slow"}, {"model": "unknown"}], ids=["slow", "unknown"])
def test_one_callers_outages_leave_the_upstream_to_the_others(bad: Json) -> None:
    with ChatUpstream(slow_or_away) as upstream:
        events = Upstream(via="chat", base_url=upstream.url, breaker_failures=2, retries=0, first_payload_timeout=0.2)
        with callers({"u": events}, model="*") as ask, ThreadPoolExecutor(6) as pool:
            codes = {each.status_code for each in pool.map(lambda _: ask("mallory", **bad), range(6))}
            assert (codes & {200, 503}, ask("alice").status_code) == (set(), 200)


def test_one_caller_cannot_keep_a_breaker_open() -> None:
    """Two callers have opened it. From then on one always has a slow turn there; the other is answered."""
    with ChatUpstream(slow_or_away) as upstream:
        events = Upstream(
            via="chat",
            base_url=upstream.url,
            breaker_failures=2,
            breaker_pause=0.3,
            retries=0,
            first_payload_timeout=1.5,
        )
        with callers({"u": events}, model="*") as ask, ThreadPoolExecutor(1) as pool:
            for name in ("alice", "mallory"):
                ask(name, model="unknown")
            assert ask("alice").status_code == 503
            time.sleep(0.35)
            slow = pool.submit(ask, "mallory", "slow")
            while len(upstream.asks) < 3:
                time.sleep(0.01)
            assert (ask("alice").status_code, slow.done()) == (200, False)


def test_one_caller_alone_opens_the_breaker_of_a_server_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        events = Upstream(via="chat", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1", breaker_failures=3)
        with callers({"u": events}) as ask:
            assert [ask("alice").status_code for _ in range(4)] == [502] * 3 + [503]


def test_strangers_cannot_open_a_breaker_by_slow_prompts() -> None:
    with ChatUpstream(slow_or_away) as upstream:
        events = Upstream(
            via="chat", base_url=upstream.url, auth="passthrough", breaker_failures=2, first_payload_timeout=0.2
        )
        settings = Settings(upstreams={"u": events}, models={"m": Model(upstream="u")})
        with serving(settings) as url, ThreadPoolExecutor(5) as pool:

            def ask(key: str, text: str) -> int:
                headers = {"authorization": f"Bearer {key}"}
                body = {"model": "m", "input": text}
                return httpx.post(f"{url}/v1/responses", json=body, headers=headers, timeout=20).status_code

            assert [*pool.map(lambda number: ask(f"made-up-{number}", "slow"), range(5))] == [504] * 5
            assert ask("another", "Hi") == 200


def test_what_litellm_cannot_translate_is_the_requests_fault_and_nobodys_else() -> None:
    with GeminiUpstream([candidate({"text": "Hi"}, finishReason="STOP")]) as upstream:
        events = Upstream(provider="gemini", base_url=upstream.url, breaker_failures=2)
        with callers({"u": events}, model="gemini-2.5-flash") as ask:
            for _ in range(3):
                refused = ask("mallory", **POISON)
                assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_value")
                assert "JSON Schema of a tool" in refused.json()["error"]["message"]
            assert upstream.asks == []
            assert ask("alice").status_code == 200


def test_what_litellm_cannot_translate_may_be_said_by_another_upstream() -> None:
    with GeminiUpstream([]) as first, ChatUpstream(text_turn("Hi")) as second:
        events = {
            "u": Upstream(provider="gemini", base_url=first.url),
            "v": Upstream(via="chat", base_url=second.url),
        }
        with callers(events, model="gemini-2.5-flash") as ask:
            assert (ask("alice", **POISON).status_code, first.asks, len(second.asks)) == (200, [], 1)


def test_a_name_that_no_address_can_hold_is_an_unknown_model() -> None:
    settings = Settings(
        upstreams={"u": Upstream(provider="azure", base_url="http://127.0.0.1:1", api_key="k")},  # type: ignore[arg-type]
        models={"*": Model(upstream="u")},
    )
    with serving(settings) as url:
        body = {"model": "m\x7f", "input": "Hi"}
        refused = httpx.post(f"{url}/v1/responses", json=body, timeout=20)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")


def test_an_upstream_that_takes_its_callers_keys_is_asked_once_more_as_well() -> None:
    with ChatUpstream([Status(503)], text_turn("Hi")) as upstream:
        events = Upstream(via="chat", base_url=upstream.url, auth="passthrough")
        settings = Settings(upstreams={"u": events}, models={"m": Model(upstream="u")})
        with serving(settings) as url:
            headers = {"authorization": "Bearer my-own"}
            body = {"model": "m", "input": "Hi"}
            assert httpx.post(f"{url}/v1/responses", json=body, headers=headers, timeout=20).status_code == 200
    assert len(upstream.asks) == 2


def test_callers_with_keys_of_their_own_count_as_one() -> None:
    """Such keys can be made up."""
    with server("chat", [BOOM]) as upstream:
        events = Upstream(via="chat", base_url=upstream.url, auth="passthrough", breaker_failures=3)
        settings = Settings(upstreams={"u": events}, models={"m": Model(upstream="u")})
        with serving(settings) as url:

            def ask(key: str, text: str) -> int:
                headers = {"authorization": f"Bearer {key}"}
                body = {"model": "m", "input": text}
                return httpx.post(f"{url}/v1/responses", json=body, headers=headers, timeout=20).status_code

            assert [ask(f"made-up-{number}", "picture") for number in range(8)] == [502] * 8
            assert ask("another", "Hi") == 200


@contextmanager
def turns(*upstreams: Upstream, caplog: pytest.LogCaptureFixture) -> Iterator[tuple[str, list[Json]]]:
    """A server, and the fields of its turns' lines as they come."""
    caplog.set_level(logging.INFO, "am_proxy.turn")
    names = [f"u{number}" for number in range(len(upstreams))]
    settings = Settings(
        upstreams=dict(zip(names, upstreams, strict=True)),
        models={"m": Model.model_validate({"upstreams": names})},
    )
    lines: list[Json] = []
    with serving(settings) as url:
        yield url, lines
    lines += [record.fields for record in caplog.records if record.name == "am_proxy.turn"]  # type: ignore[attr-defined]


def test_an_upstream_that_was_left_alone_is_not_charged_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    with ChatUpstream([Status(503)]) as upstream:
        events = Upstream(via="chat", base_url=upstream.url, breaker_failures=1, retries=0)
        with turns(events, caplog=caplog) as (url, lines):
            for _ in range(3):
                httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, timeout=20)
            found = samples(httpx.get(f"{url}/metrics").text)
    errors = {name: value for name, value in found.items() if "upstream_errors_total" in name}
    assert errors == {'am_proxy_upstream_errors_total{code="upstream_error",upstream="u0"}': 1}
    assert [line.get("left_alone") for line in lines] == [None, True, True]


def test_an_upstream_that_was_not_asked_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    """The second cannot be told of the request; or is asked, and has no search of its own as the first has."""
    with ResponsesUpstream([BOOM]) as first, ExitStack() as stack:
        second = stack.enter_context(ChatUpstream(text_turn("Hi")))
        events = (
            Upstream(via="responses", base_url=first.url),
            Upstream(via="chat", base_url=second.url),
        )
        bodies = (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}]},
            {"input": "Hi", "tools": [{"type": "web_search"}]},
        )
        with turns(*events, caplog=caplog) as (url, lines):
            for body in bodies:
                httpx.post(f"{url}/v1/responses", json={"model": "m", **body}, timeout=20)
    assert [(line["upstream"], line["finish"]) for line in lines] == [("u0", "refused"), ("u1", "completed")]
    assert len(second.asks) == 1
    assert "web_search" in str(lines[1]["warnings"])
