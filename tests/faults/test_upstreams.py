"""Every way in which an upstream can go wrong, over both chat lanes and the relay: what the client is told of it."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from typing import NamedTuple

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.grammar import check
from tests.wire.program import serving
from tests.wire.script import breaks, opens, says, stops, text_turn
from tests.wire.servers import Ask, ChatUpstream, Cut, End, Hang, LongLine, Pause, Reset, Script, Status, Step

SILENCE = 1.0
"""Seconds for which upstreams may be silent where that is told."""
IMPATIENT = ", impatient"
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

    async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
        name = ask.body["messages"][-1]["content"]
        steps = CASES[name][0] if name in CASES else text_turn("Hi")
        if not isinstance(steps, Old):
            return await super()._play(ask, steps, writer)
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.writelines(self.frame(step, ask) for step in steps.steps if isinstance(step, dict))
        await writer.drain()
        return False


class ChaosServer(NamedTuple):
    client: httpx.Client
    model: str
    upstream: Chaotic

    def ask(self, name: str) -> tuple[int | str, str, str]:
        """How it ended, in which words, and what was said till then."""
        impatient = name.startswith(("silence", "comments"))
        model = f"{self.model}{IMPATIENT if impatient else ''}"
        answer = self.client.post("/v1/responses", json={"model": model, "input": name, "stream": True})
        if answer.status_code != 200:
            assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
            return answer.status_code, answer.json()["error"]["message"], ""
        text = answer.text.replace("_AM-AM-", "_AM-")  # a relay may mark the ids of the server behind it, or not
        events = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
        check(events)
        last = events[-1]
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        return last["type"], str((last["response"]["error"] or {}).get("message", "")), text


def settings(url: str, *ways: str, silence: float) -> str:
    """Two models for each of these ways; one is asked of a server that may be silent for so long only."""
    upstreams, models = {}, {}
    for via, kind in product(ways, ("", IMPATIENT)):
        patience = {"timeout": silence} if kind else {}
        upstreams[via + kind] = Upstream(via=via, base_url=url, retries=0, breaker_failures=0, **patience)
        models[via + kind] = Model(upstream=via + kind, name=f"chat{kind}")
    return Settings(upstreams=upstreams, models=models)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Chaotic]:
    with Chaotic() as upstream:
        yield upstream


@pytest.fixture(scope="module", params=["chat", "responses"])
def chaotic(request: pytest.FixtureRequest, upstream: Chaotic) -> Iterator[ChaosServer]:
    """The relay stands before a second server, whose own lane is the direct one."""
    with ExitStack() as stack:
        url = stack.enter_context(serving(settings(upstream.url, "chat", silence=SILENCE)))
        if request.param == "responses":
            url = stack.enter_context(serving(settings(f"{url}/v1", "responses", silence=10)))
        chaotic = ChaosServer(stack.enter_context(httpx.Client(base_url=url, timeout=50)), request.param, upstream)
        assert chaotic.ask("a healthy one")[0] == "response.completed", "litellm is loaded"
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
