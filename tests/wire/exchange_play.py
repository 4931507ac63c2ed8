"""Plays an exchange over real sockets: the client's steps, against a server before scripted servers."""

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import httpx
from websockets.exceptions import ConnectionClosed

from tests.wire.cases import Stage, case_of
from tests.wire.encodings import ENCODINGS, packed
from tests.wire.event_stream import events_of
from tests.wire.exchange_names import StableNames
from tests.wire.exchanges import SEARCH, UPSTREAM, read_exchange, script_step
from tests.wire.search_server import KINDS, Answered, Asked, SearchServer
from tests.wire.servers import Ask, Json, Latch, Status, Step
from tests.wire.sockets import Client, opened

_SHOWN_OF_A_SEARCH: Final = frozenset({"authorization", "x-api-key", "x-key", "x-subscription-token"})


class Played(NamedTuple):
    """An exchange that has been played."""

    lines: list[Json]
    """As a file has them."""
    streams: list[list[Json]]
    """The events of each stream and of each connection, as they came."""
    bodies: list[Json]
    """Whole answers, as they came."""
    for_codex: bool
    """Whether the client said that it is Codex."""


class _Play:
    """One exchange."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = read_exchange(folder)
        self.lines: list[Json] = []
        self.streams: list[list[Json]] = []
        self.bodies: list[Json] = []
        self.asks: list[Ask] = []
        self.searches = 0
        self.gates = {line["gate"]: Latch() for line in self.script.upstream if "gate" in line}
        self.clients: dict[str, Client] = {}
        self.unread: dict[str, list[Json]] = {}
        self.names = StableNames({})

    # What the scripted servers say

    def answered(self, ask: Ask) -> list[Step]:
        """What the upstream answers to its next ask."""
        shown = {name: ask.headers[name] for name in ("authorization", "anthropic-beta") if name in ask.headers}
        self.lines.append({"ask": {"path": ask.path, **shown, "body": ask.body}})
        self.asks.append(ask)
        if len(self.asks) > len(self.script.replies):
            return [Status(500, {"error": {"message": "The exchange has no answer to this ask."}})]
        replies = self.script.replies[len(self.asks) - 1]
        self.lines += replies
        return [script_step(self.names.real(line), self.gates) for line in replies]

    def found(self, kind: str, asked: Asked) -> Answered | None:
        """What the search server answers to its next request: a refusal, or what the exchange says."""
        headers = {name: value for name, value in asked.headers.items() if name in _SHOWN_OF_A_SEARCH}
        self.lines.append({"search": {"path": asked.path, "fields": asked.fields, "headers": headers}})
        self.searches += 1
        assert self.searches <= len(self.script.found), "the exchange has no answer to this search"
        line = self.script.found[self.searches - 1]
        self.lines.append(line)
        if KINDS[kind](asked)[0] != 200:
            return None
        answer = self.names.real(line["found"])
        return Answered(answer["status"], json.dumps(answer["body"]).encode(), {"content-type": "application/json"})

    # What the client does

    async def run(self, url: str) -> None:
        """Take all steps, and make sure that nothing else comes."""
        async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=url, timeout=50) as client:
            for line in self.script.steps:
                self.lines.append(line)
                match line:
                    case {"get": str(path)} | {"options": str(path)}:
                        self.got(await client.request(next(iter(line)).upper(), path, headers=line.get("headers")))
                    case {"post": str(path)}:
                        self.got(await client.post(path, **self.posted(line)))
                    case {"open": str(gate)}:
                        self.gates[gate].open()
                    case _:
                        name = line.get("connection", "")
                        if name not in self.clients:
                            headers = line.get("connect", {}).get("headers")
                            self.clients[name] = await stack.enter_async_context(opened(url, headers))
                        await self.on_connection(name, line)
            for name, connection in self.clients.items():
                await self.nothing_more(name, connection)

    def posted(self, line: Json) -> Json:
        """The body and the headers of a request."""
        headers = [
            (name, value)
            for name, given in {"content-type": "application/json", **line.get("headers", {})}.items()
            for value in ([given] if isinstance(given, str) else given)
        ]
        if "bytes" in line:
            return {"content": bytes.fromhex(line["bytes"]), "headers": headers}
        body = json.dumps(self.names.asked(line["body"])).encode()
        encoding = dict(headers).get("content-encoding", "")
        return {"content": packed(encoding, body) if encoding in ENCODINGS else body, "headers": headers}

    def got(self, answer: httpx.Response) -> None:
        """Keep an answer over HTTP."""
        head: Json = {"status": answer.status_code, "headers": dict(sorted(answer.headers.items()))}
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            events = events_of(answer.content)
            self.streams.append(events)
            self.lines += self.names.named([{"response": head}, *({"event": event} for event in events)])
            return
        if answer.headers.get("content-type") != "application/json":
            message = "\n".join(sorted(answer.text.split("\n")))
            self.lines.append(self.names.named({"response": {**head, "message": message}}))
            return
        self.bodies.append(answer.json())
        self.lines.append(self.names.named({"response": {**head, "body": answer.json()}}))

    async def on_connection(self, name: str, line: Json) -> None:
        """Send a frame, or read events."""
        client = self.clients[name]
        match line:
            case {"frame": str(text)}:
                await client.connection.send(text)
            case {"frame": frame}:
                await client.connection.send(json.dumps(self.names.asked(frame)))
            case {"read": list(types)}:
                self.keep(name, await read(client, Counter(types)))
            case _:
                assert "connect" in line, line

    def keep(self, name: str, events: list[Json]) -> None:
        """Keep what came."""
        over = {"connection": name} if name else {}
        for event in events:
            if "closed" in event:
                self.lines.append({**event, **over})
                continue
            self.lines.append({"event": self.names.named(event), **over})
            self.unread.setdefault(name, []).append(event)

    async def nothing_more(self, name: str, client: Client) -> None:
        """All that was sent before the answer to a ping has been read."""
        try:
            await asyncio.wait_for(await client.connection.ping(), 5)
            more = await asyncio.wait_for(client.connection.recv(), 0.001)
        except (TimeoutError, ConnectionClosed):
            return
        raise AssertionError(f"the exchange ends before this event on connection {name!r}: {more!r}")

    # The whole

    def result(self) -> Played:
        """All lines, with stable names also in what other servers were asked: the client has seen the ids first."""
        assert len(self.asks) == len(self.script.replies), "the exchange has an answer to an ask that was not made"
        for ask, replies in zip(self.asks, self.script.replies, strict=True):
            if {"hang": True} in replies:
                assert ask.wait_gone(), "the connection to an upstream that says nothing more is not closed"
        lines = [self.names.named(line) if {"ask", "search"} & line.keys() else line for line in self.lines]
        sent = [line.get("connect", line).get("headers", {}) for line in self.script.steps]
        for_codex = any("originator" in headers for headers in sent)
        return Played(lines, [*self.streams, *self.unread.values()], self.bodies, for_codex)


async def read(client: Client, waited: Counter[str]) -> list[Json]:
    """The events up to the last of these types; `closed` is the end of the connection."""
    events: list[Json] = []
    while waited.total():
        try:
            events.append(await client.event())
        except ConnectionClosed:
            events.append({"closed": client.connection.close_code})
            assert waited == Counter({"closed": 1}), f"the connection ends before {dict(waited)}"
            return events
        except TimeoutError as error:
            raise AssertionError(f"nothing came but {events}, and {dict(waited)} is missing") from error
        waited -= Counter([events[-1]["type"]])
    return events


def play(folder: Path, stage: Stage) -> Played:
    """Play this exchange."""
    played, case = _Play(folder), case_of(folder)
    upstream = case.format(played.answered)
    if "models" in case.shared:  # they may be of many makers, whose rules differ: the golden asks are the judges
        upstream.faults = lambda _: []  # type: ignore[assignment,method-assign]
    addresses = {UPSTREAM: stage.base_url(case).removesuffix(upstream.base_path)}
    upstream.takes_empty_bodies = True
    with ExitStack() as stack:
        if "search" in case.shared:
            kind = case.shared["search"]["backend"]
            search = SearchServer(kind, lambda asked: played.found(kind, asked))
            addresses[SEARCH] = stack.enter_context(search).url
        played.names = StableNames(addresses, "m" if "models" in case.shared else case.name)
        url = stack.enter_context(stage.playing(case, upstream, addresses))
        asyncio.run(played.run(url))
        return played.result()
