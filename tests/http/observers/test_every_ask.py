"""The log and the counters know each ask that failed, and blame nobody else."""

from typing import Any

import httpx

from tests.http.logged import line_of_turn
from tests.http.observers.counters import counted
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import own_program
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Status

Json = dict[str, Any]
SEARCH: Json = {"tools": [{"type": "web_search"}]}
"""The first upstream has a search of its own; the second has none, which is a warning."""


def two(first: ResponsesUpstream, second: ChatUpstream, **of_second: Any) -> str:
    """A model that is asked at the first of these, and then at the second."""
    return Settings(
        upstreams={
            "one": Upstream(via="responses", base_url=first.url, breaker_failures=0),
            "other": Upstream(via="chat", base_url=second.url, **of_second),
        },
        models={"m": Model(upstreams=["one", "other"], names={"other": "theirs"})},
    )


def watched(text: str, *bodies: Json) -> tuple[Json, dict[str, float]]:
    """The line of the last of these turns, and the errors of upstreams that are counted then."""
    with own_program(text) as program:
        answers = [
            httpx.post(f"{program.url}/v1/responses", json={"model": "m", "input": "Hi"} | body, timeout=20)
            for body in bodies
        ]
        line = line_of_turn(program, answers[-1].headers["x-request-id"])
        found = counted(program.url)
    return line, {name: value for name, value in found.items() if "upstream_errors_total" in name}


def of_one(count: int) -> dict[str, float]:
    return {'am_proxy_upstream_errors_total{code="upstream_error",upstream="one"}': count}


def test_an_attempt_that_failed_is_counted_though_another_upstream_answers() -> None:
    """The warnings are those of the upstream that was asked last, which has a name of its own for the model."""
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        line, errors = watched(two(first, second), SEARCH)
        assert [ask.body["model"] for ask in (*first.asks, *second.asks)] == ["m", "theirs"]
    assert errors == of_one(1)
    assert (line["finish"], line["upstream"], line["retries"]) == ("completed", "other", {"one": 1})
    assert "web_search" in line["warnings"][0]


def test_a_fallback_that_cannot_be_asked_this_is_not_blamed() -> None:
    only_relayed = {"input": [{"role": "user", "content": "Hi"}, {"type": "from_the_future"}]} | SEARCH
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        line, errors = watched(two(first, second), only_relayed)
        assert second.asks == []
    assert errors == of_one(1)
    assert (line["finish"], line["error"], line["upstream"]) == ("refused", "upstream_error", "one")
    assert "warnings" not in line


def test_a_fallback_whose_breaker_is_open_is_not_blamed() -> None:
    """The first turn opens the breaker of the second upstream."""
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream([Status(503)]) as second:
        line, errors = watched(two(first, second, breaker_failures=1, retries=0), SEARCH, SEARCH)
        assert (len(first.asks), len(second.asks)) == (2, 1)
    once = {'am_proxy_upstream_errors_total{code="upstream_error",upstream="other"}': 1}
    assert errors == of_one(2) | once
    assert (line["finish"], line["error"], line["upstream"]) == ("refused", "overloaded", "one")
    assert "warnings" not in line
