"""`auth = "passthrough"`: what one caller sends goes out for that caller alone. Exchanges have the rest."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import Ask, ChatUpstream, Status, Step


def sticky(ask: Ask) -> list[Step]:
    """It remembers whom it does not like by a cookie."""
    if ask.body["model"] == "sticky":
        return [Status(429, {"error": {"message": "later"}}, {"set-cookie": "who=somebody; Path=/"})]
    return [*text_turn("Hi")]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ChatUpstream]:
    with ChatUpstream(sticky) as upstream:
        yield upstream


@pytest.fixture
def url(upstream: ChatUpstream) -> Iterator[str]:
    upstream.asks.clear()
    # by name: libraries keep no cookies of addresses in figures
    there = Upstream(via="chat", base_url=upstream.url.replace("127.0.0.1", "localhost"), auth="passthrough")
    with serving(Settings(upstreams={"u": there}, models={"*": Model(upstream="u")})) as url:
        yield url


async def all_at_once(url: str, models: list[str]) -> list[int]:
    async with httpx.AsyncClient(base_url=url, timeout=50) as client:
        asks = [
            client.post(
                "/v1/responses",
                json={"model": model, "input": "Hi"},
                headers={"authorization": f"Bearer sk-key-of-{model}", "cookie": "a=b"},
            )
            for model in models
        ]
        return [answer.status_code for answer in await asyncio.gather(*asks)]


async def test_no_cookie_goes_out_neither_the_upstreams_own_nor_a_callers(url: str, upstream: ChatUpstream) -> None:
    for _ in range(3):
        assert await all_at_once(url, ["sticky"]) == [429]
    assert not [ask for ask in upstream.asks if "cookie" in ask.headers]


async def test_callers_at_the_same_time_are_not_mixed_up(url: str, upstream: ChatUpstream) -> None:
    models = [f"m{number}" for number in range(16)]
    assert set(await all_at_once(url, models)) == {200}
    asked = {ask.body["model"]: ask.headers["authorization"] for ask in upstream.asks}
    assert asked == {model: f"Bearer sk-key-of-{model}" for model in models}
