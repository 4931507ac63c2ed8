"""What one caller does is not held against an upstream, nor told as its failure."""

import hashlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from app.settings import Key, Model, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import Ask, ChatUpstream, Cut, Hang, ResponsesUpstream, Status
from tests.wire.servers.responses import answer, message

Json = dict[str, Any]
LANES = ["chat", "responses", "litellm"]
NAMES = ("alice", "bob", "carol", "mallory")
BOOM = Status(500, {"error": {"message": "Boom.", "type": "server_error", "code": 500}})


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
