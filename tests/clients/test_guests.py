"""Callers with a key of their own for a passthrough upstream: what one of them does is felt by that one alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import pytest

from tests.wire.configuration import Key, Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import Ask, ChatUpstream, Latch, Step

ALICE, BEN, CLEO = ({"authorization": f"Bearer sk-{name}"} for name in ("alice", "ben", "cleo"))


class GatedUpstream(ChatUpstream):
    """It answers once its gate is open."""

    def __init__(self) -> None:
        super().__init__(self._steps)
        self.gate = Latch()
        self.asked = threading.Semaphore(0)

    def _steps(self, _ask: Ask) -> list[Step]:
        self.asked.release()
        return [self.gate, *text_turn("Hi")]


class PassthroughServer(NamedTuple):
    """A server that gives its callers' keys to an upstream."""

    client: httpx.Client
    upstream: GatedUpstream

    def ask(self, who: dict[str, str], **body: Any) -> httpx.Response:
        """One turn."""
        return self.client.post("/v1/responses", json={"model": "m", "input": "Hi", **body}, headers=who)

    def start(self, *callers: dict[str, str]) -> list[threading.Thread]:
        """A turn of each caller, which the upstream has read when this returns."""
        threads = [threading.Thread(target=self.ask, args=(who,)) for who in callers]
        for thread in threads:
            thread.start()
        for _ in callers:
            assert self.upstream.asked.acquire(timeout=20)
        return threads


def settings(upstream: ChatUpstream, *, keys: bool, **server: Any) -> str:
    return Settings(
        server=Server(**server),
        keys=[Key(name="alice", value="sk-alice")] if keys else [],
        upstreams={"u": Upstream(via="chat", base_url=upstream.url, auth="passthrough"), "demo": Upstream(via="demo")},
        models={"m": Model(upstream="u"), "internal-codename": Model(upstream="demo")},
    )


@contextmanager
def passing(*, keys: bool, **server: Any) -> Iterator[PassthroughServer]:
    with (
        GatedUpstream() as upstream,
        serving(settings(upstream, keys=keys, **server), fresh=True) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        yield PassthroughServer(client, upstream)
        upstream.gate.open()


@pytest.mark.parametrize("keys", [True, False], ids=["beside keys of ours", "without"])
def test_each_guest_has_limits_of_its_own(*, keys: bool) -> None:
    with passing(keys=keys, guest_concurrency=1, guest_requests_per_minute=3) as passthrough:
        threads = passthrough.start(BEN, CLEO)
        second = passthrough.ask(BEN)
        assert (second.status_code, second.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        passthrough.upstream.gate.open()
        for thread in threads:
            thread.join(10)
        answers = [passthrough.ask(BEN) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert passthrough.ask(CLEO).headers["x-ratelimit-remaining-requests"] == "1"


def test_guests_are_shown_no_figures_of_others() -> None:
    with passing(keys=True) as passthrough:
        client = passthrough.client
        answers = [client.get("/metrics", headers=who) for who in (BEN, {"authorization": "Bearer made-up"})]
        assert [(answer.status_code, answer.json()["error"]["code"]) for answer in answers] == [
            (401, "invalid_api_key")
        ] * 2
        assert client.get("/metrics", headers=ALICE).status_code == 200
