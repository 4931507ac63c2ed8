"""A Responses server whose answers are scripted, with one fault or none."""

import asyncio
import copy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import web

from tests.judges.openai_streams import CALL, CUSTOM, CUT, TEXT

Json = dict[str, Any]


def refusal(param: str) -> Json:
    """The body of an error."""
    return {"error": {"message": "No.", "type": "invalid_request_error", "param": param, "code": None}}


@dataclass
class Answers:
    """What the server answers."""

    text: list[Json] = field(default_factory=lambda: TEXT)
    call: list[Json] = field(default_factory=lambda: CALL)
    custom: list[Json] = field(default_factory=lambda: CUSTOM)
    """Empty if custom tools are refused; that below, if max_output_tokens is."""
    cut: list[Json] = field(default_factory=lambda: CUT)
    frames: Callable[[bytes], bytes] = bytes
    """What becomes of the bytes of a stream."""
    content_type: str = "text/event-stream"
    error: Any = field(default_factory=lambda: refusal("input"))
    error_status: int = 400
    error_headers: dict[str, str] = field(default_factory=dict)
    whole: Callable[[Json], object] = dict
    """What becomes of a whole response."""
    status: int = 200
    pause: float = 0
    """Seconds of silence in the middle of a stream."""
    comment: bytes = b""
    """What is sent in the middle of the silence."""
    never_ends: bool = False
    """Whether comments follow a stream for ever."""
    lets_leave: bool = True
    """Whether the next client is answered after one has left."""
    has_summaries: bool = True
    closes: bool = False
    """Whether the connection is closed after an answer."""
    response_id: str | None = None
    """The id of all responses over a websocket, if they have the same."""
    has_websocket: bool = True
    continues: bool = True
    """Whether a response over a websocket names the one that it continues."""
    always_streams: bool = False
    """Whether requests without `stream` get a stream, too, as from transformers serve."""
    ends_used_connections: bool = False
    """Whether the second request on a connection ends it, as llama.cpp does after a streamed answer."""
    used: set[object] = field(default_factory=set)

    def use(self, request: web.Request) -> None:
        """Note its connection."""
        if self.ends_used_connections and request.transport is not None and request.transport in self.used:
            request.transport.abort()
        self.used.add(request.transport)

    def to(self, body: Json) -> list[Json]:
        """The stream that answers a request."""
        kinds = {tool["type"] for tool in body.get("tools") or []}
        if kinds and not any(item["type"].endswith("_output") for item in body["input"]):
            return self.custom if "custom" in kinds else self.call
        return self.cut if "max_output_tokens" in body else self.text


_SOUND = Answers()


def _stream(events: list[Json]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


class _JudgedServer:
    """The addresses of the server."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.was_left = False

    def _refuse(self) -> web.Response:
        answers = self.answers
        return web.json_response(answers.error, status=answers.error_status, headers=answers.error_headers)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        answers = self.answers
        answers.use(request)
        try:
            body = await request.json()
        except ValueError:
            return self._refuse()
        if not isinstance(body["input"], list):
            return self._refuse()
        if not answers.to(body):
            return self._refuse()
        if body.get("stream") or answers.always_streams:
            self.was_left = "500" in str(body["input"]) and "max_output_tokens" not in body
            return await self._streamed(request, answers.frames(_stream(answers.to(body))))
        plain: Any = dict(_SOUND.to(body)[-1]["response"])
        status = answers.status if answers.lets_leave or not self.was_left else 503
        reply = web.json_response(answers.whole(plain) or plain, status=status)
        if answers.closes:
            reply.force_close()
        return reply

    async def _streamed(self, request: web.Request, data: bytes) -> web.StreamResponse:
        answers = self.answers
        headers = {"content-type": answers.content_type}
        if not answers.pause and not answers.never_ends:
            return web.Response(body=data, headers=headers, status=answers.status)
        reply = web.StreamResponse(headers=headers)
        await reply.prepare(request)
        half = data.index(b"\n\n") + 2
        for piece in (data[:half], answers.comment, data[half:]):
            await reply.write(piece)
            await asyncio.sleep(answers.pause / 2)
        while answers.never_ends:
            await reply.write(b": still here\n\n")
            await asyncio.sleep(0.05)
        return reply

    async def converse(self, request: web.Request) -> web.WebSocketResponse:
        """The websocket. It knows the last response of the connection alone."""
        if not self.answers.has_websocket:
            raise web.HTTPMethodNotAllowed("GET", ["POST"])
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        last = None
        async for message in socket:
            body = message.json()
            before = body.get("previous_response_id")
            orphan = any(item["type"] == "function_call_output" for item in body["input"] if isinstance(item, dict))
            if orphan or (before is not None and before != last):
                last = None
                await socket.send_json({"type": "error", "status": 400, **_unknown(orphan=orphan)})
                continue
            last = f"resp_{next(_NUMBERS)}" if self.answers.response_id is None else self.answers.response_id
            for event in copy.deepcopy(TEXT):
                if "response" in event:
                    event["response"]["id"] = last
                    event["response"]["previous_response_id"] = before if self.answers.continues else None
                await socket.send_json(event)
        return socket

    async def compact(self, request: web.Request) -> web.Response:
        if not self.answers.has_summaries:
            return web.json_response(refusal(""), status=404)
        if "model" not in await request.json():
            return web.json_response(refusal("model"), status=400)
        return web.json_response({"output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}]})

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})


_NUMBERS = count(1)


def _unknown(*, orphan: bool) -> Json:
    code = "invalid_value" if orphan else "previous_response_not_found"
    return {"error": {"message": "No.", "type": "invalid_request_error", "param": None, "code": code}}


@contextmanager
def judged_server(answers: Answers) -> Iterator[str]:
    """Its base URL, until the block ends."""
    server = _JudgedServer(answers)
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.add_routes(
        [
            web.post("/v1/responses", server.respond),
            web.get("/v1/responses", server.converse),
            web.post("/v1/responses/compact", server.compact),
            web.get("/v1/models", server.models),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def start() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port: int = runner.addresses[0][1]
        return port

    port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
