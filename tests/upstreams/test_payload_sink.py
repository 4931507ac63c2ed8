"""Payloads that are handed over where they are read: the same ones, in the same order, as those that are drawn."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, Final
from unittest.mock import Mock

import pytest

from app.http_client.http_answer import HttpAnswer
from app.protocol.problems import Problem
from app.upstreams.http_chat import HttpChat
from app.upstreams.http_messages import HttpMessages
from app.upstreams.native_responses import NativeResponses
from app.upstreams.payload_sink import SINK
from app.upstreams.port import UpstreamBroke, UpstreamPort
from app.upstreams.response_body import ResponseBody
from tests.support.upstream_asks import KEY, asks
from tests.wire.script import counts, says, stops
from tests.wire.servers import (
    AnthropicUpstream,
    ChatUpstream,
    Cut,
    End,
    Hang,
    Pause,
    Reset,
    ResponsesUpstream,
    ScriptedUpstream,
    Step,
)
from tests.wire.servers.anthropic import begins, ends, text
from tests.wire.servers.responses import answer, message

Json = dict[str, Any]

WORDS: Final = ["one ", "two ", "three ", "four ", "five "]
LONG: Final = "long " * 5000

MESSAGES_ASK: Final[Json] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    "stream": True,
}
CHAT: Final = [*map(says, WORDS), stops(), counts(7, 5)]
HALVES: Final = [b'data: {"choices":[{"delta"', b':{"content":"x"}}]}\n\n']
SAID: Final = answer(message("msg_1", *WORDS))
OVERLOADED: Final[Json] = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
CASES: Final[dict[str, tuple[str, Sequence[Step]]]] = {
    "chat": ("chat", CHAT),
    "chat, a long piece between": ("chat", [*CHAT[:3], says(LONG), *CHAT[3:]]),
    "chat, an error": ("chat", [*CHAT[:3], {"error": {"message": "It broke."}}, End()]),
    "chat, no JSON": ("chat", [*CHAT[:3], b"data: {nonsense\n\n", *CHAT[3:]]),
    "chat, cut": ("chat", [*CHAT[:3], Cut()]),
    "chat, reset": ("chat", [*CHAT[:3], Reset()]),
    "chat, an end without a word": ("chat", [*CHAT[:5], End()]),
    "chat, a chunk in two pieces": ("chat", [CHAT[0], *HALVES, *CHAT[1:]]),
    "chat, comments": ("chat", [*CHAT[:2], b": ping\n\n", b": ping\n\n", *CHAT[2:]]),
    "messages": ("messages", [*begins(), *text(0, *WORDS), *ends()]),
    "messages, an error": ("messages", [*begins(), *text(0, *WORDS)[:4], OVERLOADED]),
    "responses": ("responses", SAID),
    "responses, an error": ("responses", [*SAID[:6], {"type": "error", "message": "No."}, End()]),
    "responses, an error and a failure": (
        "responses",
        [
            *SAID[:6],
            {"type": "error", "error": {"code": "server_error", "message": "No."}},
            {"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "output": []}},
        ],
    ),
}  # fmt: skip


class Sink:
    """Keeps payloads, those that are taken and those that are drawn."""

    def __init__(self, opens: Callable[[], bool]) -> None:
        self._opens = opens
        self.payloads: list[Json] = []
        self.taken = 0

    @property
    def is_open(self) -> bool:
        """Never before the first payload was drawn."""
        return bool(self.payloads) and self._opens()

    def take(self, payloads: list[Json]) -> None:
        """Take some."""
        self.payloads += payloads
        self.taken += len(payloads)


def served(
    lane: str, steps: Sequence[Step]
) -> tuple[ScriptedUpstream, type[HttpChat | HttpMessages | NativeResponses], Json]:
    paced = [each for step in steps for each in (step, Pause(0.005))]
    if lane == "messages":
        return AnthropicUpstream(paced), HttpMessages, MESSAGES_ASK
    if lane == "responses":
        return ResponsesUpstream(paced), NativeResponses, {"model": "m", "input": "Hi", "stream": True}
    return ChatUpstream(paced), HttpChat, asks()


async def read(
    lane: str, steps: Sequence[Step], sink: Sink | None, **settings: Any
) -> tuple[list[Json], Problem | None]:
    upstream, kind, ask = served(lane, steps)
    kept = sink or Sink(lambda: False)
    with upstream:
        url = f"{upstream.url}/v1" if lane == "messages" else upstream.url
        client: UpstreamPort[Json, Json] = kind(url, api_key=KEY, **settings)
        token = SINK.set(sink)
        try:
            async with aclosing(client.open(dict(ask))) as drawn:
                async for payload in drawn:
                    kept.payloads.append(payload)
        except UpstreamBroke as broke:
            return kept.payloads, broke.problem
        finally:
            SINK.reset(token)
            await client.close()
    return kept.payloads, None


@pytest.mark.parametrize("name", CASES)
async def test_what_is_taken_and_drawn_is_what_is_drawn_alone(name: str) -> None:
    lane, steps = CASES[name]
    alone = await read(lane, steps, None)
    numbers = count()
    for opens, takes in ((lambda: True, True), (lambda: next(numbers) % 2 == 0, True), (lambda: False, False)):
        sink = Sink(opens)
        assert await read(lane, steps, sink) == alone
        assert (sink.taken > 0) == takes


async def test_the_limit_on_a_servers_silence_moves_with_what_is_taken() -> None:
    sink = Sink(lambda: True)
    began = time.monotonic()
    payloads, problem = await read(
        "chat", [says("a"), *[step for _ in range(6) for step in (Pause(0.1), says("b"))], Hang()], sink, timeout=1
    )
    took = time.monotonic() - began
    assert (len(payloads), sink.taken) == (7, 6)
    assert problem is not None
    assert problem.code == "upstream_timeout"
    assert 1.5 < took < 5


async def test_a_piece_that_comes_with_the_end_is_taken_and_the_answer_ends() -> None:
    """On a connection that stays open: nothing more would come to wake the task."""
    sink = Sink(lambda: True)
    together = b"".join(b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % number for number in range(3))
    payloads, problem = await read("chat", [says("a"), Pause(0.05), together, End()], sink)
    assert (len(payloads), problem) == (4, None)


async def test_a_piece_that_comes_as_its_reader_is_cancelled_is_read_by_the_next() -> None:
    came = HttpAnswer(Mock())
    pieces = ResponseBody(came, set()).pieces(lambda _: None)
    reading = asyncio.ensure_future(anext(pieces))
    await asyncio.sleep(0)
    for piece in (b"first", b"second"):
        came.add(piece)
        came.changed(len(piece))
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    came.ends()
    assert [piece async for piece in pieces] == [b"first", b"second"]
