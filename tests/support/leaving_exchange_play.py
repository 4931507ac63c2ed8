"""Plays an exchange over real sockets: the client's steps, against a server before scripted servers."""

import asyncio
import json
import tomllib
from collections import Counter
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import httpx
from websockets.exceptions import ConnectionClosed

from tests.support.leaving_exchange_names import StableNames
from tests.support.leaving_exchanges import (
    SEARCH,
    UPSTREAM,
    WEBSITE,
    read_exchange,
    script_step,
    settings_of_exchange,
)
from tests.support.serving import serving
from tests.wire.encodings import ENCODINGS, packed
from tests.wire.event_stream import events_of
from tests.wire.search_server import KINDS, Answered, Asked, SearchServer
from tests.wire.servers import (
    AnthropicUpstream,
    Ask,
    ChatUpstream,
    Json,
    Latch,
    ResponsesUpstream,
    ScriptedUpstream,
    Status,
    Step,
)
from tests.wire.sockets import Client, opened
from tests.wire.web_site import Page, Site, page

_UPSTREAMS: Final = {"chat": ChatUpstream, "messages": AnthropicUpstream, "responses": ResponsesUpstream}
_TYPES: Final = {".html": "text/html; charset=utf-8", ".txt": "text/plain"}
_NOT_SHOWN: Final = frozenset({"content-length", "date", "openai-processing-ms", "server", "x-request-id"})
"""Headers of each answer, which other tests look at."""
_SHOWN_OF_A_SEARCH: Final = frozenset({"authorization", "x-api-key", "x-key", "x-subscription-token"})


class Played(NamedTuple):
    """An exchange that has been played."""

    lines: list[Json]
    """As a file has them."""
    streams: list[list[Json]]
    """The events of each stream and of each lane of a connection, as they came."""
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
        self.lines.append({"ask": {"path": ask.path, "body": ask.body}})
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
        async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=url, timeout=20) as client:
            for line in self.script.steps:
                self.lines.append(line)
                match line:
                    case {"get": str(path)}:
                        self.got(await client.get(path, headers=line.get("headers")))
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
        body = json.dumps(self.names.real(line["body"])).encode()
        encoding = dict(headers).get("content-encoding", "")
        return {"content": packed(encoding, body) if encoding in ENCODINGS else body, "headers": headers}

    def got(self, answer: httpx.Response) -> None:
        """Keep an answer over HTTP."""
        headers = {name: value for name, value in sorted(answer.headers.items()) if name not in _NOT_SHOWN}
        head: Json = {"status": answer.status_code, "headers": headers}
        if headers.get("content-type", "").startswith("text/event-stream"):
            events = events_of(answer.content)
            self.streams.append(events)
            self.lines += self.names.named([{"response": head}, *({"event": event} for event in events)])
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
                await client.connection.send(json.dumps(self.names.real(frame)))
            case {"read": list(types)}:
                self.keep(name, await read(client, Counter(types)))
            case _:
                assert "connect" in line, line

    def keep(self, name: str, events: list[Json]) -> None:
        """Keep what came, lane by lane: how lanes take turns differs from run to run."""
        over = {"connection": name} if name else {}
        events.sort(key=lambda event: str(event.get("stream_id", "")))
        for event in events:
            if "closed" in event:
                self.lines.append({**event, **over})
                continue
            self.lines.append({"event": self.names.named(event), **over})
            self.unread.setdefault(f"{name} {event.get('stream_id')}", []).append(event)

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
        connects = [line.get("connect", {}).get("headers", {}) for line in self.script.steps]
        for_codex = any("originator" in headers for headers in connects)
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


def play(folder: Path, place: Path) -> Played:
    """Play this exchange; `place` is a folder for its configuration."""
    played = _Play(folder)
    configured = tomllib.loads((folder / "am-proxy.toml").read_text(encoding="utf-8"))
    with ExitStack() as stack:
        addresses: dict[str, str] = {}
        for upstream in configured.get("upstreams", {}).values():
            server: ScriptedUpstream = _UPSTREAMS[upstream["via"]](played.answered)
            stack.enter_context(server)
            addresses[UPSTREAM] = server.url.removesuffix("/v1")
        if "search" in configured:
            kind = configured["search"]["backend"]
            search = SearchServer(kind, lambda asked: played.found(kind, asked))
            addresses[SEARCH] = stack.enter_context(search).url
        site = Site(pages_of(folder), on_ask=lambda path: played.lines.append({"page": path}))
        addresses[WEBSITE] = stack.enter_context(site).url
        played.names = StableNames(addresses)
        settings = settings_of_exchange(folder, addresses, place)
        with serving(settings) as url:
            asyncio.run(played.run(url))
        return played.result()


def pages_of(folder: Path) -> dict[str, Page]:
    """The pages of another server that this exchange opens."""
    files = sorted((folder / "pages").glob("*"))
    return {f"/{file.name}": page(file.read_bytes(), kind=_TYPES[file.suffix]) for file in files}
