"""SIGTERM: turns that do not end in time are told so, in a stream or by a status, and the program ends with 0."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Semaphore
from typing import Any

import httpx

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import events_of, judged
from tests.wire.program import Program
from tests.wire.script import opens, says
from tests.wire.servers import Ask, ChatUpstream, Hang, Step


def test_turns_are_told_that_the_server_stops() -> None:
    """What was said stays said."""
    asked = Semaphore(0)

    def script(_: Ask) -> list[Step]:
        asked.release()
        return [opens(), says("one"), Hang()]

    with ChatUpstream(script) as upstream, ThreadPoolExecutor() as pool, ExitStack() as stack:
        upstreams = {"u": Upstream(via="chat", base_url=upstream.url)}
        settings = Settings(server=Server(shutdown_grace=0.3), upstreams=upstreams, models={"m": Model(upstream="u")})
        program = Program(settings)
        stack.callback(program.process.kill)
        url, ask = f"{program.url}/v1/responses", {"model": "m", "input": "Hi"}
        answers = [pool.submit(httpx.post, url, json={**ask, "stream": stream}) for stream in (True, False)]
        assert all(asked.acquire(timeout=10) for _ in answers)
        assert program.stop() == 0
        streamed, whole = (answer.result() for answer in answers)
    events = events_of(streamed.content)
    judged(events)
    last: dict[str, Any] = events[-1]["response"]
    assert (last["status"], last["output"][0]["content"][0]["text"]) == ("failed", "one")
    assert (whole.status_code, whole.json()["error"]["code"]) == (503, "overloaded")
