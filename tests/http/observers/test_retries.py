"""Asks that are sent once more or elsewhere, and upstreams that are left alone, are seen from outside."""

import httpx

from tests.http.logged import line_of_turn
from tests.http.observers.counters import counted
from tests.support.metrics import samples
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import own_program
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, Status


def test_they_are_counted_and_logged() -> None:
    """The first upstream is always down; behind two failures of it a spare is asked, and it is left alone."""
    with ChatUpstream([Status(503)]) as down, ChatUpstream(text_turn("Hi")) as spare:
        settings = Settings(
            upstreams={
                "down": Upstream(via="chat", base_url=down.url, breaker_failures=1),
                "spare": Upstream(via="chat", base_url=spare.url),
            },
            models={"small": Model(upstreams=["down", "spare"])},
        )
        with own_program(settings) as program:
            before = samples(httpx.get(f"{program.url}/metrics").text)
            body = {"model": "small", "input": "Hi"}
            answers = [httpx.post(f"{program.url}/v1/responses", json=body, timeout=20) for _ in range(2)]
            lines = [line_of_turn(program, answer.headers["x-request-id"]) for answer in answers]
            after = counted(program.url)
    circuits = ['am_proxy_circuit_open{upstream="down"}', 'am_proxy_circuit_open{upstream="spare"}']
    assert [before[name] for name in circuits] == [0, 0]
    assert [after[name] for name in circuits] == [1, 0]
    # once more and elsewhere; then elsewhere at once
    assert after['am_proxy_retries_total{upstream="down"}'] == 3
    assert [(line["finish"], line["upstream"], line["retries"]) for line in lines] == [
        ("completed", "spare", {"down": 2}),
        ("completed", "spare", {"down": 1}),
    ]
