"""Callers with a key of their own for a passthrough upstream: what one of them does is felt by that one alone."""

import threading
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import httpx
import pytest

from app.settings import Key, Model, Server, Settings, Upstream
from tests.support.script import text_turn
from tests.support.servers import ChatUpstream, Latch
from tests.support.serving import serving

ALICE, BEN, CLEO = ({"authorization": f"Bearer sk-{name}"} for name in ("alice", "ben", "cleo"))


class PassthroughServer(NamedTuple):
    """A server that gives its callers' keys to an upstream, which answers once its gate is open."""

    client: httpx.Client
    upstream: ChatUpstream
    gate: Latch

    def ask(self, who: dict[str, str], **body: Any) -> httpx.Response:
        """One turn."""
        return self.client.post("/v1/responses", json={"model": "m", "input": "Hi", **body}, headers=who)

    def start(self, *callers: dict[str, str]) -> list[threading.Thread]:
        """A turn of each caller, which the upstream has read when this returns."""
        asked = len(self.upstream.asks)
        threads = [threading.Thread(target=self.ask, args=(who,)) for who in callers]
        for thread in threads:
            thread.start()
        while len(self.upstream.asks) < asked + len(callers):
            pass
        return threads


def settings(upstream: ChatUpstream, *, keys: bool, **server: Any) -> Settings:
    return Settings(
        server=Server(**server),
        keys=(Key("alice", sha256(b"sk-alice").digest()),) if keys else (),
        upstreams={"u": Upstream(via="chat", base_url=upstream.url, auth="passthrough"), "demo": Upstream(via="demo")},
        models={"m": Model(upstream="u"), "internal-codename": Model(upstream="demo")},
    )


@pytest.fixture(params=[True, False], ids=["beside keys of ours", "without"])
def passthrough(request: pytest.FixtureRequest) -> Iterator[PassthroughServer]:
    gate = Latch()
    with (
        ChatUpstream([gate, *text_turn("Hi")]) as upstream,
        serving(settings(upstream, keys=request.param, guest_concurrency=1, guest_requests_per_minute=3)) as url,
        httpx.Client(base_url=url, timeout=10) as client,
    ):
        yield PassthroughServer(client, upstream, gate)
        gate.open()


def test_each_guest_has_limits_of_its_own(passthrough: PassthroughServer) -> None:
    threads = passthrough.start(BEN, CLEO)
    second = passthrough.ask(BEN)
    assert (second.status_code, second.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    passthrough.gate.open()
    for thread in threads:
        thread.join(10)
    answers = [passthrough.ask(BEN) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert passthrough.ask(CLEO).headers["x-ratelimit-remaining-requests"] == "1"


def test_guests_are_shown_no_figures_of_others(passthrough: PassthroughServer) -> None:
    answers = [passthrough.client.get("/metrics", headers=who) for who in (BEN, {"authorization": "Bearer made-up"})]
    if passthrough.client.get("/metrics").status_code == 200:
        pytest.skip("this server has no keys, and so no guests")
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in answers] == [
        (401, "invalid_api_key")
    ] * 2
    assert "internal-codename" not in answers[0].text
    assert passthrough.client.get("/metrics", headers=ALICE).status_code == 200


def test_guests_leave_half_of_the_turns_to_keys() -> None:
    gate = Latch()
    with (
        ChatUpstream([gate, *text_turn("Hi")]) as upstream,
        serving(settings(upstream, keys=True, max_turns=2)) as url,
        httpx.Client(base_url=url, timeout=10) as client,
    ):
        passthrough = PassthroughServer(client, upstream, gate)
        threads = passthrough.start(BEN)
        full = passthrough.ask(CLEO)
        assert (full.status_code, full.json()["error"]["code"]) == (503, "overloaded")
        assert passthrough.ask(ALICE, model="internal-codename").status_code == 200
        gate.open()
        for thread in threads:
            thread.join(10)
