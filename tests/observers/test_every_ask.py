"""Observers see each ask, its upstream and its error: that of a fallback as well, and the one after a summary."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.metrics import samples
from tests.support.script import text_turn
from tests.support.servers import ChatUpstream, ResponsesUpstream, Script, Status
from tests.support.serving import serving

Json = dict[str, Any]


def observed(
    caplog: pytest.LogCaptureFixture, settings: Settings, *bodies: Json
) -> tuple[list[tuple[str, Json]], list[Json]]:
    """Upstream and ask of each observed ask, and the fields of each turn's log line."""
    with caplog.at_level("INFO"), serving(settings) as url:
        for body in bodies:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"} | body)
    lines = [(record.name, record.getMessage(), record.__dict__.get("fields", {})) for record in caplog.records]
    asks = [
        (fields["upstream"], fields["ask"])
        for name, what, fields in lines
        if (name, what) == ("am_proxy.bodies", "asked")
    ]
    return asks, [fields for name, _, fields in lines if name == "am_proxy.turn"]


def two(first: ChatUpstream | ResponsesUpstream, second: ChatUpstream, **options: Any) -> Settings:
    via: Any = "chat" if isinstance(first, ChatUpstream) else "responses"
    return Settings(
        server=Server(log_bodies=True, metrics="open"),
        upstreams={
            "one": Upstream(via=via, base_url=first.url, **options),
            "other": Upstream(via="chat", base_url=second.url),
        },
        models={"m": Model.model_validate({"upstreams": ["one", "other"], "names": {"other": "theirs"}})},
    )


@pytest.mark.parametrize(
    ("failing", "retries"), [([Status(503)], 1), ([Status(503)], 0)], ids=["asked once more", "asked once"]
)
def test_a_fallback(caplog: pytest.LogCaptureFixture, failing: Script, retries: int) -> None:
    """What is sent a second time to the same upstream is one ask: the log counts how often."""
    with ChatUpstream(failing) as first, ChatUpstream(text_turn("Hi")) as second:
        asks, _ = observed(caplog, two(first, second, retries=retries), {})
        assert len(first.asks) == 1 + retries
    items = [{"role": "user", "content": "Hi"}]
    assert [(name, ask["model"], ask["messages"]) for name, ask in asks] == [
        ("one", "m", items),
        ("other", "theirs", items),
    ]


def test_the_log_has_the_warnings_of_the_upstream_that_was_asked_last(caplog: pytest.LogCaptureFixture) -> None:
    """The first one has a search of its own, the second knows of none."""
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        asks, [line] = observed(caplog, two(first, second), {"tools": [{"type": "web_search"}]})
    assert [name for name, _ in asks] == ["one", "other"]
    assert line["upstream"] == "other"
    assert "web_search" in line["warnings"][0]


def test_an_upstream_that_is_left_alone_is_not_observed(caplog: pytest.LogCaptureFixture) -> None:
    with ChatUpstream([Status(503)]) as first, ChatUpstream(text_turn("Hi")) as second:
        asks, _ = observed(caplog, two(first, second, retries=0, breaker_failures=1), {}, {})
        assert len(first.asks) == 1
    assert [name for name, _ in asks] == ["one", "other", "other"]


def test_the_ask_behind_a_summary(caplog: pytest.LogCaptureFixture) -> None:
    history = [
        {"role": "user", "content": "Remember this. " * 60},
        {"role": "assistant", "content": "OK."},
        {"role": "user", "content": "Go on."},
    ]
    managed = [{"type": "compaction", "compact_threshold": 100}]
    with ChatUpstream(text_turn("1. It was remembered."), text_turn("Yes.")) as upstream:
        settings = Settings(
            server=Server(log_bodies=True),
            upstreams={"one": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="one")},
        )
        asks, _ = observed(caplog, settings, {"input": history, "context_management": managed})
        sent = [ask.body["messages"] for ask in upstream.asks]
    assert len(sent) == 2
    assert [(name, ask["messages"]) for name, ask in asks] == [("one", messages) for messages in sent]


def watched(
    caplog: pytest.LogCaptureFixture, settings: Settings, *bodies: Json
) -> tuple[list[tuple[str, str]], Json, dict[str, float]]:
    """Each attempt that failed, with its code; the last turn's log line; and the errors that metrics count."""
    with caplog.at_level("INFO"), serving(settings) as url:
        for body in bodies:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"} | body)
        counted = samples(httpx.get(f"{url}/metrics").text)
    lines = [(record.name, record.getMessage(), record.__dict__.get("fields", {})) for record in caplog.records]
    failed = [
        (fields["upstream"], fields["error"]["code"])
        for name, what, fields in lines
        if (name, what) == ("am_proxy.bodies", "attempt failed")
    ]
    errors = {name: value for name, value in counted.items() if "upstream_errors_total" in name}
    return failed, [fields for name, _, fields in lines if name == "am_proxy.turn"][-1], errors


def of_one(count: int) -> dict[str, float]:
    return {'am_proxy_upstream_errors_total{code="upstream_error",upstream="one"}': count}


SEARCH: Json = {"tools": [{"type": "web_search"}]}
"""The first upstream has a search of its own; the second has none, which is a warning."""


def test_an_attempt_that_failed_is_observed_though_another_upstream_answers(caplog: pytest.LogCaptureFixture) -> None:
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        failed, line, errors = watched(caplog, two(first, second), SEARCH)
    assert failed == [("one", "upstream_error")]
    assert errors == of_one(1)
    assert (line["finish"], line["upstream"], line["retries"]) == ("completed", "other", {"one": 1})
    assert "web_search" in line["warnings"][0]


def test_a_fallback_that_cannot_be_asked_this_is_not_blamed(caplog: pytest.LogCaptureFixture) -> None:
    only_relayed = {"input": [{"role": "user", "content": "Hi"}, {"type": "from_the_future"}]} | SEARCH
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        failed, line, errors = watched(caplog, two(first, second), only_relayed)
        assert second.asks == []
    assert failed == [("one", "upstream_error")]
    assert errors == of_one(1)
    assert (line["finish"], line["error"], line["upstream"]) == ("refused", "upstream_error", "one")
    assert "warnings" not in line


def test_a_fallback_whose_breaker_is_open_is_not_blamed(caplog: pytest.LogCaptureFixture) -> None:
    """The first turn opens the breaker of the second upstream."""
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream([Status(503)]) as second:
        settings = two(first, second, breaker_failures=0)
        other = settings.upstreams["other"].model_copy(update={"breaker_failures": 1, "retries": 0})
        settings = replace(settings, upstreams={**settings.upstreams, "other": other})
        failed, line, errors = watched(caplog, settings, SEARCH, SEARCH)
        assert (len(first.asks), len(second.asks)) == (2, 1)
    assert failed == [("one", "upstream_error"), ("other", "upstream_error"), ("one", "upstream_error")]
    once = {'am_proxy_upstream_errors_total{code="upstream_error",upstream="other"}': 1}
    assert errors == of_one(2) | once
    assert (line["finish"], line["error"], line["upstream"]) == ("refused", "overloaded", "one")
    assert "warnings" not in line
