"""Who is told why an upstream failed: the log always, and the caller if only this machine's own user can call."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import httpx
import pytest

from app.settings import Key, Model, Secret, Server, Settings, Upstream
from tests.support.script import breaks, says, text_turn
from tests.support.servers import ChatUpstream, Cut, Script, Status
from tests.support.serving import serving
from tests.support.sockets import opened
from tests.support.upstream_refusals import error

DEAD = "http://127.0.0.1:1/v1"
SECRET = "sk-SECRETsecret12345678"
ASK = {"model": "m", "input": "Hi"}
CAUSE = f"The upstream at {DEAD} refused the connection. Is it running?"
TODAY = "The upstream could not be reached."
KEYS = (Key("alice", sha256(b"a-key-of-alice").digest()),)


def configured(*addresses: str, server: Server | None = None, keys: tuple[Key, ...] = (), **more: Any) -> Settings:
    """A model that is asked at these addresses, one after the other."""
    upstreams = {
        f"u{number}": Upstream(via="chat", base_url=address, api_key=Secret(SECRET), **more)
        for number, address in enumerate(addresses)
    }
    models = {"m": Model.model_validate({"upstreams": list(upstreams)})}
    return Settings(server=server or Server(), keys=keys, upstreams=upstreams, models=models)


def message_of(url: str, **headers: str) -> str:
    answer = httpx.post(f"{url}/v1/responses", json=ASK, headers=headers, timeout=20)
    return str(answer.json()["error"]["message"])


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(vars(record)["words"]) for record in caplog.records if "words" in vars(record)]


def test_the_only_user_of_a_server_is_told_address_and_cause(caplog: pytest.LogCaptureFixture) -> None:
    with serving(configured(DEAD)) as url:
        assert message_of(url) == CAUSE
        assert message_of(url) == CAUSE
    assert warnings(caplog) == [f"upstream u0 at {DEAD} refused the connection. Is it running?"]


@pytest.mark.parametrize(
    ("settings", "headers"),
    [
        (configured(DEAD, keys=KEYS), {"authorization": "Bearer a-key-of-alice"}),
        (configured(DEAD, server=Server(host="0.0.0.0", insecure_no_auth=True)), {}),  # noqa: S104 — it is not bound
        (configured(DEAD, server=Server(allowed_hosts=("proxy.example",))), {}),
        (configured(DEAD, server=Server(cors_origins=("https://page.example",))), {}),
        (configured(DEAD), {"x-forwarded-for": "203.0.113.5"}),
        (configured(DEAD), {"forwarded": "for=203.0.113.5"}),
        (configured(DEAD), {"via": "1.1 proxy"}),
        (configured(DEAD), {"x-real-ip": "203.0.113.5"}),
    ],
    ids=["key", "open to others", "hosts", "pages", "x-forwarded-for", "forwarded", "via", "x-real-ip"],
)
def test_others_see_neither_address_nor_cause(
    settings: Settings, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(settings) as url:
        assert message_of(url, **headers) == TODAY
    assert warnings(caplog) == [f"upstream u0 at {DEAD} refused the connection. Is it running?"]


def test_callers_with_keys_of_their_own_see_neither(caplog: pytest.LogCaptureFixture) -> None:
    with ChatUpstream([Status(401, error(f"Bad key {SECRET}"))]) as upstream:
        there = Upstream(via="chat", base_url=upstream.url, auth="passthrough")
        settings = Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})
        with serving(settings) as url:
            assert message_of(url, authorization=f"Bearer {SECRET}") == (
                "The upstream of this model does not accept your key."
            )
    assert warnings(caplog) == [f"upstream there at {upstream.url} answered 401: Bad key …"]


@contextmanager
def refusing(*script: Any) -> Iterator[tuple[str, str]]:
    """The address of an upstream that answers so, and of the server in front of it."""
    with ChatUpstream(list(script)) as upstream, serving(configured(upstream.url)) as url:
        yield upstream.url, url


def test_a_context_that_is_too_short_is_told_with_the_upstreams_numbers(caplog: pytest.LogCaptureFixture) -> None:
    numbers = "This model's maximum context length is 8192 tokens. However, you requested 20311 tokens."
    with refusing(Status(400, error(numbers))) as (there, url):
        told = message_of(url)
    ours = "The input is longer than this model's context window. Send less of it."
    assert told == f"{ours} The upstream at {there} answered 400: {numbers}"
    assert warnings(caplog) == [f"upstream u0 at {there} answered 400: {numbers}"]


def test_no_secret_is_told_to_anyone(caplog: pytest.LogCaptureFixture) -> None:
    leak = f"Bad key {SECRET}, at https://user:hunter2@10.0.0.7/v1?key={SECRET}: Bearer {SECRET}"
    with refusing(Status(401, error(leak))) as (there, url):
        told = message_of(url)
    assert told.endswith(f"The upstream at {there} answered 401.")
    assert warnings(caplog) == [f"upstream u0 at {there} answered 401: Bad key …, at … Bearer …"]
    for text in (told, *warnings(caplog), caplog.text):
        assert not any(secret in text for secret in (SECRET, "hunter2", "10.0.0.7"))


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_breaks_off_is_logged(caplog: pytest.LogCaptureFixture, *, stream: bool) -> None:
    with refusing(says("Hi"), breaks("out of memory", 500)) as (there, url):
        text = httpx.post(f"{url}/v1/responses", json={**ASK, "stream": stream}, timeout=20).text
    assert "The upstream failed with status 500: out of memory" in text
    assert warnings(caplog) == [f"upstream u0 at {there} failed with status 500: out of memory."]


def test_an_answer_without_an_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with refusing(says("Hi"), Cut()) as (there, url):
        httpx.post(f"{url}/v1/responses", json=ASK, timeout=20)
    assert warnings(caplog) == [f"upstream u0 at {there} broke off the connection."]


def test_a_fallback_is_logged_although_the_client_gets_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, serving(configured(DEAD, upstream.url)) as url:
        assert httpx.post(f"{url}/v1/responses", json=ASK, timeout=20).json()["status"] == "completed"
    assert warnings(caplog) == [f"upstream u0 at {DEAD} refused the connection. Is it running?"]


def test_an_upstream_that_answers_again_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    scripts: list[Script] = [[Status(500)], [Status(500)], text_turn("Hi"), text_turn("Hi")]
    with ChatUpstream(*scripts) as upstream, serving(configured(upstream.url)) as url:
        for _ in scripts:
            httpx.post(f"{url}/v1/responses", json=ASK, timeout=20)
        there = upstream.url
    assert warnings(caplog) == [
        f"upstream u0 at {there} answered 500.",
        f"upstream u0 at {there} answers again after 0 s, 2 requests failed",
    ]


def test_an_open_breaker_is_told_with_the_cause_of_the_outage() -> None:
    with serving(configured(DEAD, breaker_failures=1)) as url:
        assert message_of(url) == CAUSE
        ours = "The model's server failed again and again, and is left alone for a while."
        assert message_of(url) == f"{ours} {CAUSE}"


async def test_over_a_websocket_it_is_told_too() -> None:
    with serving(configured(DEAD)) as url:
        async with opened(url) as client:
            *_, last = await client.ask(**ASK)
    assert last["error"]["message"] == CAUSE


def test_the_inspector_shows_the_cause_of_each_attempt() -> None:
    with (
        ChatUpstream(text_turn("Hi")) as upstream,
        serving(configured(DEAD, upstream.url, server=Server(watch=5))) as url,
    ):
        httpx.post(f"{url}/v1/responses", json=ASK, timeout=20)
        with httpx.stream("GET", f"{url}/inspector/turns/1/live", timeout=20) as turns:
            lines = turns.iter_lines()
            shown = next(line for line in lines if line == "event: failed") and next(lines)
    assert json.loads(shown.removeprefix("data: "))["error"]["message"] == CAUSE


def test_a_count_that_the_upstream_refuses_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    there = Upstream(via="responses", base_url=DEAD)
    with (
        caplog.at_level(logging.WARNING, "am_proxy"),
        serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url,
    ):
        answer = httpx.post(f"{url}/v1/responses/input_tokens", json=ASK, timeout=20)
    assert answer.json()["error"]["message"] == CAUSE
    assert warnings(caplog) == [f"upstream there at {DEAD} refused the connection. Is it running?"]
