"""Asks that are sent once more or elsewhere, and upstreams that are left alone, are seen from outside."""

import json
import logging
from collections.abc import Iterator

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.metrics import samples
from tests.support.script import counts, says, stops
from tests.support.servers import ChatUpstream, Status
from tests.support.serving import serving


@pytest.fixture
def url() -> Iterator[str]:
    """The first upstream is always down; behind two failures of it a spare is asked, and it is left alone."""
    down, spare = ChatUpstream([Status(503)]), ChatUpstream([says("Hi"), stops(), counts(1, 1)])
    with down, spare:
        settings = Settings(
            upstreams={
                "down": Upstream(via="chat", base_url=down.url, breaker_failures=1),
                "spare": Upstream(via="chat", base_url=spare.url),
            },
            models={"small": Model.model_validate({"upstreams": ["down", "spare"]})},
        )
        with serving(settings) as address:
            yield address


def test_they_are_counted_and_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "am_proxy.turn")
    before = samples(httpx.get(f"{url}/metrics").text)
    for _ in range(2):
        answer = httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"}, timeout=20).json()
        assert answer["status"] == "completed"
    after = samples(httpx.get(f"{url}/metrics").text)
    circuits = ['am_proxy_circuit_open{upstream="down"}', 'am_proxy_circuit_open{upstream="spare"}']
    assert [before[name] for name in circuits] == [0, 0]
    assert [after[name] for name in circuits] == [1, 0]
    found = {name: value for name, value in after.items() if "retries_total" in name or "requests_total" in name}
    assert found == {
        'am_proxy_requests_total{finish="completed",model="small",upstream="spare"}': 2,
        'am_proxy_retries_total{upstream="down"}': 3,  # once more and elsewhere; then elsewhere at once
    }
    lines = [getattr(record, "fields", {}) for record in caplog.records if record.name == "am_proxy.turn"]
    logged = [(line["upstream"], line["retries"]) for line in lines]
    assert json.dumps(logged) == json.dumps([("spare", {"down": 2}), ("spare", {"down": 1})])
