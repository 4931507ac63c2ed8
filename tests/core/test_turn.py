"""The turn: each thing that can happen to it, in each phase, over real sockets to a model server."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from app.catalog import Catalog
from app.settings.load import Settings
from app.settings.tables import Caller
from app.tools.table import SHAPES
from app.turns.signals import Why
from app.turns.turn import Turn
from app.types.events import Event
from app.types.parse import parse
from app.types.problems import Problem
from tests.core.servers import Step, chunk, says, served, until, upstream
from tests.wire.web_site import PNG


class Heard:
    """A client that keeps what it gets; `gate` holds up what is sent."""

    streams = True

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.warned: list[str] = []
        self.started = self.finished = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.gone = asyncio.Event()

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        assert not self.started
        self.started = True
        self.warned += warnings

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        return b"".join([msgspec.json.encode(event) + b"\n" for event in events])

    async def send(self, data: bytes) -> None:
        await self.gate.wait()
        self.got += map(json.loads, data.splitlines())

    async def finish(self, data: bytes, warnings: Sequence[str]) -> None:
        assert not self.finished
        self.finished = True
        self.warned += warnings
        await self.send(data)

    async def refuse(self, problem: Problem) -> None:
        assert not self.finished
        self.finished = True

    async def left(self) -> None:
        await self.gone.wait()

    @property
    def types(self) -> list[str]:
        return [event["type"].removeprefix("response.") for event in self.got]

    @property
    def text(self) -> str:
        return "".join([event["delta"] for event in self.got if event["type"] == "response.output_text.delta"])

    def check(self) -> None:
        """Numbers without gaps, and one last event at the end."""
        assert [event["sequence_number"] for event in self.got] == list(range(len(self.got)))
        last = [kind for kind in self.types if kind in {"completed", "incomplete", "failed"}]
        assert len(last) <= 1
        assert last == self.types[-1:] or not last


class Case:
    """A turn that runs against these upstreams."""

    def __init__(
        self,
        client: Heard,
        urls: Sequence[str],
        *,
        given: Any = "Hi",
        server: Any = None,
        **table: Any,
    ) -> None:
        upstreams = {f"u{index}": {"base_url": url} for index, url in enumerate(urls)}
        upstreams["u0"] |= table
        model = {"upstreams": list(upstreams)}
        tables = {"server": {"watch": 0, **(server or {})}, "upstreams": upstreams, "models": {"m": model}}
        settings = Settings.model_validate_json(json.dumps(tables))
        request, warnings = parse({"model": "m", "input": given, "stream": True}, SHAPES)
        self.catalog = Catalog(settings)
        self.released = 0
        self.turn = Turn(
            request,
            warnings,
            self.catalog.routes("m", Caller()),
            client,
            server=settings.server,
            request_id="r",
            for_codex=False,
            may_know=False,
            watched=True,
            released=self._release,
        )
        self.client = client
        self.task = asyncio.ensure_future(self.turn.run())

    def _release(self) -> None:
        assert not self.client.finished, "the slot is free before the last event"
        self.released += 1

    async def over(self) -> None:
        """Waits for its end, after which nothing of it is left."""
        async with asyncio.timeout(10):
            await self.task
        await self.catalog.close()
        self.client.check()
        assert self.released == 1
        await until(lambda: len(asyncio.all_tasks()) <= 1 + _servers())


def _servers() -> int:
    return sum("serve" in repr(task.get_coro()) or "_end_of" in repr(task.get_coro()) for task in asyncio.all_tasks())


@pytest.mark.parametrize("begun", [False, True])
async def test_signs_of_life_while_the_upstream_is_silent(begun: bool) -> None:
    gate = asyncio.Event()
    script: list[Step] = [chunk("a"), gate, *says("b")] if begun else [gate, *says("b")]
    async with upstream(script) as up:
        case = Case(client := Heard(), [up.url], server={"first_payload_wait": 0.05, "keep_alive": 0.05})
        sign = "output_text.delta" if begun else "in_progress"
        await until(lambda: client.types.count(sign) > 3)
        assert client.types[:2] == ["created", "in_progress"]
        gate.set()
        await case.over()
        assert client.text == ("ab" if begun else "b")


@pytest.mark.parametrize("stops", [False, True])
async def test_signs_of_life_while_a_picture_is_fetched(stops: bool) -> None:
    gate = asyncio.Event()
    server = {"first_payload_wait": 0.05, "keep_alive": 0.05, "allow_private_urls": True}
    async with upstream([gate, PNG]) as site, upstream(says("a")) as up:
        parts = [{"type": "input_image", "image_url": f"{site.url}/a.png"}, {"type": "input_video", "video_url": "b"}]
        given = [{"role": "user", "content": parts}]
        case = Case(client := Heard(), [up.url], given=given, server=server, takes_image_urls=False)
        await until(lambda: client.types.count("in_progress") > 3)
        if stops:
            case.turn.signals.signal(Why.STOPPED)
        else:
            gate.set()
        await case.over()
        assert (client.types[-1], up.asks) == (("failed", 0) if stops else ("completed", 1))
        assert ["videos" in warning for warning in client.warned] == ([] if stops else [True])
        await until(lambda: site.open == 0)


async def test_no_sign_of_life_while_the_client_does_not_read() -> None:
    async with upstream([chunk("a"), chunk("b"), 0.3, *says("c")]) as up:
        client = Heard()
        client.gate.clear()
        case = Case(client, [up.url], server={"first_payload_wait": 0.02, "keep_alive": 0.02})
        await asyncio.sleep(0.3)
        client.gate.set()
        await case.over()
        assert client.text == "abc"
        assert [event for event in client.got[:4] if event.get("delta") == ""] == []


@pytest.mark.parametrize(
    ("script", "table", "code"),
    [
        ([30.0], {"timeout": 0.2, "retries": 0}, "upstream_timeout"),
        ([chunk("a"), 30.0], {"timeout": 0.2}, "upstream_timeout"),
        ([0.02, b": wait\n\n"] * 200, {"timeout": 0.2, "retries": 0}, "upstream_timeout"),
        ([chunk("a"), *([0.02, b": wait\n\n"] * 200)], {"timeout": 0.2}, "upstream_timeout"),
        ([chunk("a"), *([0.02, chunk("a")] * 200)], {"turn_timeout": 0.4}, "upstream_timeout"),
    ],
)
async def test_each_limit_of_time_ends_the_turn(script: list[Step], table: dict[str, Any], code: str) -> None:
    async with upstream(script) as up:
        case = Case(client := Heard(), [up.url], server={"keep_alive": 0.05}, **table)
        await case.over()
        assert case.turn.problem is not None
        assert case.turn.problem.code == code
        assert client.types[-1:] == (["failed"] if client.started else [])
        await until(lambda: up.open == 0)


async def test_whoever_answers_has_its_own_time_to_think() -> None:
    async with upstream([30.0]) as silent, upstream([0.4, chunk("a"), 0.6, *says("b")]) as slow:
        case = Case(client := Heard(), [silent.url, slow.url], timeout=0.2, retries=0)
        await case.over()
        assert (client.text, case.turn.route.name) == ("ab", "u1")
        await until(lambda: silent.open == 0)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("why", "last"), [(Why.INTERRUPTED, "incomplete"), (Why.CANCELLED, "incomplete"), (Why.STOPPED, "failed")]
)
async def test_a_reason_from_outside_ends_the_turn(why: Why, last: str, begun: bool) -> None:
    async with upstream([chunk("a"), 30.0] if begun else [30.0]) as up:
        case = Case(client := Heard(), [up.url], server={"first_payload_wait": 0.02})
        await until(lambda: "output_text.delta" in client.types if begun else "in_progress" in client.types)
        case.turn.signals.signal(why)
        case.turn.signals.signal(Why.LEFT)  # the first reason counts
        await case.over()
        assert client.types[-1] == last
        await until(lambda: up.open == 0)


async def test_a_reason_while_the_client_does_not_read_loses_nothing() -> None:
    async with upstream([chunk("a"), 30.0]) as up:
        client = Heard()
        client.gate.clear()
        case = Case(client, [up.url])
        await until(lambda: client.started)
        await asyncio.sleep(0.05)
        case.turn.signals.signal(Why.CANCELLED)
        await asyncio.sleep(0.05)
        client.gate.set()
        await case.over()
        assert client.text == "a"
        assert client.types[-1] == "incomplete"


async def test_a_client_that_leaves_while_it_does_not_read() -> None:
    async with upstream([chunk("a"), 30.0]) as up:
        client = Heard()
        client.gate.clear()
        case = Case(client, [up.url])
        await until(lambda: client.started)
        client.gone.set()
        await case.over()
        await until(lambda: up.open == 0)


async def test_an_ask_that_was_accepted_without_stream_options_is_kept_as_accepted() -> None:
    words = b'{"error": {"message": "Unknown key: stream_options"}}'
    refusal = b"HTTP/1.1 400 Bad\r\ncontent-length: %d\r\n\r\n%b" % (len(words), words)
    async with upstream(refusal, says("a")) as up:
        case = Case(client := Heard(), [up.url])
        await case.over()
        assert (client.text, up.asks) == ("a", 2)
    assert case.turn.asks is not None
    [kept] = case.turn.asks
    assert kept.status is None
    assert b"stream_options" not in kept.body + b"".join([piece for _, piece in kept.pieces])


async def test_an_unforeseen_fault_fails_the_response() -> None:
    async with upstream([chunk("a"), 0.05, chunk("b"), 30.0]) as up:
        case = Case(client := Heard(), [up.url])
        await until(lambda: "output_text.delta" in client.types)
        assert case.turn.exchange is not None
        case.turn.exchange.receive = lambda _: 1 / 0  # type: ignore[method-assign,assignment]
        await case.over()
        assert client.types[-1] == "failed"
        assert "ZeroDivisionError" in case.turn.cause
        await until(lambda: up.open == 0)


async def test_the_cancellation_of_somebody_else_is_not_taken() -> None:
    async with upstream([30.0]) as up:
        case = Case(client := Heard(), [up.url], server={"first_payload_wait": 0.02, "keep_alive": 0.02})
        await until(lambda: client.types.count("in_progress") > 1)
        case.task.cancel()
        case.turn.signals.signal(Why.LIFE)
        with pytest.raises(asyncio.CancelledError):
            await case.task
        await until(lambda: up.open == 0)
        await case.catalog.close()


async def test_a_server_that_closes_each_connection_when_it_is_used_again(tmp_path: Path) -> None:
    posts: Counter[bytes] = Counter()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        posts[await reader.readexactly(length)] += 1
        frames = b"".join([step for step in says("a") if isinstance(step, bytes)])
        kind = b"content-type: text/event-stream\r\n"
        writer.write(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (kind, len(frames), frames))
        with suppress(ConnectionError):
            again.append(await reader.read(1))  # of a next ask
        writer.close()

    again: list[bytes] = []
    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with served(tmp_path, url, table="retries = 0\n") as address, httpx.AsyncClient(timeout=30) as client:

        async def ask(name: str) -> list[int]:
            bodies = [{"model": "m", "input": f"{name} {number}"} for number in range(4)]
            return [(await client.post(f"{address}/v1/responses", json=body)).status_code for body in bodies]

        statuses = await asyncio.gather(*[ask(str(number)) for number in range(24)])
    listening.close()
    assert {status for each in statuses for status in each} == {200}
    assert set(posts.values()) == {1}  # what came on a closed connection was not read
    assert any(again)


async def test_an_ask_is_posted_twice_at_most_however_many_connections_are_kept(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with (
        upstream(*[[gate, *says("a")]] * 5, [None]) as up,
        served(tmp_path, up.url, table="retries = 0\n") as address,
        httpx.AsyncClient(timeout=30) as client,
    ):
        body = {"model": "m", "input": "Hi"}
        asking = [asyncio.ensure_future(client.post(f"{address}/v1/responses", json=body)) for _ in range(5)]
        await until(lambda: up.asks == 5)
        gate.set()
        await asyncio.gather(*asking)
        await until(lambda: up.open == 0)
        assert (await client.post(f"{address}/v1/responses", json=body)).status_code == 502
        assert up.asks == 5 + 2
