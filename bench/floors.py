"""The floors to compare with: byte copies that translate nothing, and litellm without a server around it.

`python -m bench.floors httpx|httpx2|aiohttp|litellm PORT UPSTREAM`
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Copy = Callable[[bytes], AsyncIterator[bytes]]


def application(copy: Copy) -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """The smallest ASGI application that forwards the bytes that `copy` yields."""

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        streamed = json.loads(body).get("stream")
        kind = b"text/event-stream" if streamed else b"application/json"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        async for piece in copy(body):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


def with_httpx(module: Any, url: str) -> Copy:
    """A byte copy with httpx or httpx2."""
    client = module.AsyncClient(timeout=None, limits=module.Limits(max_connections=None))

    async def copy(body: bytes) -> AsyncIterator[bytes]:
        headers = {"content-type": "application/json"}
        async with client.stream("POST", f"{url}/chat/completions", content=body, headers=headers) as answer:
            async for piece in answer.aiter_raw():
                yield piece

    return copy


def with_aiohttp(url: str) -> Copy:
    """A byte copy with aiohttp."""
    import aiohttp  # noqa: PLC0415 — load only the measured floor

    kept: list[aiohttp.ClientSession] = []

    async def copy(body: bytes) -> AsyncIterator[bytes]:
        if not kept:
            kept.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        headers = {"content-type": "application/json"}
        async with kept[0].post(f"{url}/chat/completions", data=body, headers=headers) as answer:
            async for piece in answer.content.iter_any():
                yield piece

    return copy


def with_litellm(url: str) -> Copy:
    """litellm, with its chunks forwarded unchanged."""
    import litellm  # noqa: PLC0415 — as above

    litellm.suppress_debug_info = True

    async def copy(body: bytes) -> AsyncIterator[bytes]:
        ask = json.loads(body)
        ask["model"] = f"hosted_vllm/{ask['model']}"
        if ask.get("stream"):
            ask["stream_options"] = {"include_usage": True}
        answer = await litellm.acompletion(api_base=url, api_key="none", max_retries=0, **ask)
        if not ask.get("stream"):
            yield answer.model_dump_json().encode()
            return
        async for chunk in answer:
            yield b"data: " + chunk.model_dump_json().encode() + b"\n\n"

    return copy


if __name__ == "__main__":
    name, port, url = sys.argv[1:]
    if name == "litellm":
        chosen = with_litellm(url)
    elif name == "aiohttp":
        chosen = with_aiohttp(url)
    else:
        chosen = with_httpx(__import__(name), url)
    uvicorn.run(application(chosen), port=int(port), log_level="error", ws="none", lifespan="off")
