"""Observers see each ask, its upstream and its error: that of a fallback as well, and the one after a summary."""

from typing import Any

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Script, Status

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
