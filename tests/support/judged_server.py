"""A Responses server whose answers are scripted, with one fault or none, for `am-proxy comply`."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.openai_streams import CALL, TEXT

Json = dict[str, Any]


def refusal(param: str) -> Json:
    """The body of an error."""
    return {"error": {"message": "No.", "type": "invalid_request_error", "param": param, "code": None}}


@dataclass
class Answers:
    """What the server answers."""

    text: list[Json] = field(default_factory=lambda: TEXT)
    call: list[Json] = field(default_factory=lambda: CALL)
    frames: Callable[[bytes], bytes] = bytes
    """What becomes of the bytes of a stream."""
    content_type: str = "text/event-stream"
    error: Any = field(default_factory=lambda: refusal("input"))
    error_status: int = 400
    error_headers: dict[str, str] = field(default_factory=dict)
    whole: Callable[[Json], object] = dict
    """What becomes of a whole response."""
    status: int = 200
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


def _stream(events: list[Json]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@contextmanager
def judged_server(answers: Answers) -> Iterator[str]:
    """Its base URL, until the block ends."""

    async def refuse() -> web.Response:
        return web.json_response(answers.error, status=answers.error_status, headers=answers.error_headers)

    async def respond(request: web.Request) -> web.Response:
        answers.use(request)
        try:
            body = await request.json()
        except ValueError:
            return await refuse()
        if not isinstance(body["input"], list):
            return await refuse()
        answered = any(item.get("type") == "function_call_output" for item in body["input"])
        events = answers.call if body.get("tools") and not answered else answers.text
        if body.get("stream") or answers.always_streams:
            data = answers.frames(_stream(events))
            return web.Response(body=data, headers={"content-type": answers.content_type}, status=answers.status)
        plain = TEXT if events is answers.text else CALL
        whole: Any = dict(plain[-1]["response"])
        return web.json_response(answers.whole(whole) or whole, status=answers.status)

    async def compact(request: web.Request) -> web.Response:
        if "model" not in await request.json():
            return web.json_response(refusal("model"), status=400)
        return web.json_response({"output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}]})

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    loop = asyncio.new_event_loop()
    app = web.Application()
    app.add_routes(
        [
            web.post("/v1/responses", respond),
            web.post("/v1/responses/compact", compact),
            web.get("/v1/models", models),
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
