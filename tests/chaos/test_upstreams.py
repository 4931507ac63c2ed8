"""Every way in which an upstream can go wrong, over both chat lanes and the relay: what the client is told of it."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.grammar import check
from tests.support.script import breaks, opens, says, stops, text_turn
from tests.support.servers import Ask, ChatUpstream, Cut, End, Hang, LongLine, Pause, Reset, Script, Status, Step
from tests.support.serving import serving

pytestmark = [
    pytest.mark.xdist_group("litellm"),
    # litellm makes a coroutine in a thread, and drops it unused where it is cancelled just then
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning"),
]
SILENCE = 1.0
"""Seconds for which upstreams may be silent here."""
HTML = b"<html><head><title>nginx</title></head><body><h1>Sorry</h1></body></html>"
BEGUN: list[Step] = [opens(), says("Once")]
ANSWER_TEXT = "Ünïcödé \N{GRINNING FACE}\N{WHITE HEAVY CHECK MARK} upon a time"
WHOLE = b"".join(
    b"data: %b\r\n\r\n" % json.dumps({**chunk, "id": "c", "model": "m"}, ensure_ascii=False).encode()
    for chunk in [opens(), says(ANSWER_TEXT), stops()]
)
COMMENTS: list[Step] = [step for _ in range(60) for step in (b": still here\n\n", Pause(0.05))]


class Old(NamedTuple):
    """An answer as HTTP/1.0 gives it: its end is that of the connection, so that nobody can tell whether it was cut."""

    steps: Sequence[Step]


class Expected(NamedTuple):
    """What a client is told: an HTTP error, or the last event."""

    outcome: int | str
    words: str = ""


FAILED = "response.failed"
CASES: dict[str, tuple[list[Step] | Old, Expected]] = {
    "reset before anything": ([Reset()], Expected(502)),
    "reset in mid-stream": ([*BEGUN, Reset()], Expected(FAILED, "broke off")),
    "cut before anything": ([Cut()], Expected(502)),
    "cut in mid-stream": ([*BEGUN, Cut()], Expected(FAILED)),
    "closed cleanly without a finish": ([*BEGUN, End()], Expected(FAILED, "cut off")),
    "closed cleanly without a word": ([End()], Expected(502)),
    "HTTP/1.0, cut": (Old(BEGUN), Expected(FAILED)),
    "HTTP/1.0, whole": (Old([*BEGUN, stops()]), Expected("response.completed")),
    "silence before anything": ([Hang()], Expected(504)),
    "silence in mid-stream": ([*BEGUN, Hang()], Expected(FAILED, "stopped talking")),
    "comments for ever before anything": (COMMENTS, Expected(504)),
    "comments for ever in mid-stream": ([*BEGUN, *COMMENTS], Expected(FAILED, "stopped talking")),
    "a line of 50 MB": ([*BEGUN, Pause(0.1), LongLine(50 * 1024 * 1024)], Expected(FAILED)),
    "garbage before anything": ([b"\x00\xff\xfe{{{]]]\n\n", End()], Expected(502)),
    "garbage in mid-stream": ([*BEGUN, b"data: {\x00\xff]]\n\n", End()], Expected(FAILED)),
    "bytes one by one": ([WHOLE[place : place + 1] for place in range(len(WHOLE))], Expected("response.completed")),
    "429 in HTML": ([Status(429, HTML, {"content-type": "text/html"})], Expected(429)),
    "502 in HTML": ([Status(502, HTML, {"content-type": "text/html"})], Expected(502)),
    "200 in HTML": ([Status(200, HTML, {"content-type": "text/html"})], Expected(502)),
    "an error as first chunk": ([breaks(), End()], Expected(502)),
    "an error in mid-stream": ([*BEGUN, breaks(), End()], Expected(FAILED)),
}


class Chaotic(ChatUpstream):
    """A chat server that can also answer in HTTP/1.0."""

    async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:  # noqa: ARG002 — the parent's
        steps = CASES[ask.body["model"]][0] if ask.body["model"] in CASES else text_turn("Hi")
        if not isinstance(steps, Old):
            return await super()._play(ask, steps, writer)
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.writelines(self.frame(step, ask) for step in steps.steps if isinstance(step, dict))
        await writer.drain()
        return False


class ChaosServer(NamedTuple):
    client: httpx.Client
    upstream: Chaotic

    def ask(self, name: str) -> tuple[int | str, str, str]:
        """How it ended, in which words, and what was said till then."""
        answer = self.client.post("/v1/responses", json={"model": name, "input": "Hi", "stream": True})
        if answer.status_code != 200:
            assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
            return answer.status_code, answer.json()["error"]["message"], ""
        events = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]
        check(events)
        last = events[-1]
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        return last["type"], str((last["response"]["error"] or {}).get("message", "")), text


@pytest.fixture(scope="module", params=["chat", "litellm", "responses"])
def chaotic(request: pytest.FixtureRequest) -> Iterator[ChaosServer]:
    """The relay stands before a second server, whose own lane is the direct one."""

    def settings(via: str, url: str, silence: float) -> Settings:
        upstream_settings: Any = {"via": via, "base_url": url, "timeout": silence, "retries": 0, "breaker_failures": 0}
        if via == "responses":
            upstream_settings["ids"] = "keep"
        return Settings(upstreams={"u": Upstream(**upstream_settings)}, models={"*": Model(upstream="u")})

    with ExitStack() as stack:
        upstream = stack.enter_context(Chaotic())
        relayed = request.param == "responses"
        url = stack.enter_context(serving(settings("chat" if relayed else request.param, upstream.url, SILENCE)))
        if relayed:
            url = stack.enter_context(serving(settings("responses", f"{url}/v1", 10)))
        chaotic = ChaosServer(stack.enter_context(httpx.Client(base_url=url, timeout=30)), upstream)
        while chaotic.ask("a healthy one")[0] != "response.completed":  # litellm takes longer than this silence to load
            time.sleep(0.1)
        yield chaotic


@pytest.mark.parametrize("name", CASES)
def test_whatever_an_upstream_does_the_client_gets_an_honest_end(chaotic: ChaosServer, name: str) -> None:
    _, result = CASES[name]
    asked = len(chaotic.upstream.asks)
    outcome, words, reply = chaotic.ask(name)
    assert (outcome, result.words in words) == (result.outcome, True), words
    if outcome == FAILED:
        assert reply.startswith("Once"), "what was said before is the client's"
    if name == "bytes one by one":
        assert reply == ANSWER_TEXT
    assert "<" not in words, "markup is nobody's business"
    assert len(chaotic.upstream.asks) <= asked + 2, "litellm alone asks once more, where a connection broke at once"
    assert chaotic.ask("a healthy one") == ("response.completed", "", "Hi")
