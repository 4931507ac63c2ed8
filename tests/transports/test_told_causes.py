"""Why an upstream failed: one line of the log for each outage, and in the inspector."""

import json
from typing import Any

import httpx
import pytest

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, Script, Status

DEAD = "http://127.0.0.1:1/v1"
SECRET = "sk-SECRETsecret12345678"
ASK = {"model": "m", "input": "Hi"}
CAUSE = f"The upstream at {DEAD} refused the connection. Is it running?"


def configured(*addresses: str, server: Server | None = None, **more: Any) -> Settings:
    """A model that is asked at these addresses, one after the other."""
    upstreams = {
        f"u{number}": Upstream(via="chat", base_url=address, api_key=Secret(SECRET), **more)
        for number, address in enumerate(addresses)
    }
    models = {"m": Model.model_validate({"upstreams": list(upstreams)})}
    return Settings(server=server or Server(), upstreams=upstreams, models=models)


def message_of(url: str) -> str:
    answer = httpx.post(f"{url}/v1/responses", json=ASK, timeout=20)
    return str(answer.json()["error"]["message"])


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(vars(record)["words"]) for record in caplog.records if "words" in vars(record)]


def test_the_only_user_of_a_server_is_told_address_and_cause(caplog: pytest.LogCaptureFixture) -> None:
    with serving(configured(DEAD)) as url:
        assert message_of(url) == CAUSE
        assert message_of(url) == CAUSE
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
