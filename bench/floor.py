"""The floor to compare with: an ASGI application that copies bytes and translates nothing.

`python -m bench.floor PORT UPSTREAM`
"""

import json
import sys
from typing import Any

import aiohttp
import uvicorn


def application(url: str) -> Any:
    """The smallest application that passes a chat completion on."""
    sessions: list[aiohttp.ClientSession] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        streamed = json.loads(body or "{}").get("stream")
        kind = b"text/event-stream" if streamed else b"application/json"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        headers = {"content-type": "application/json"}
        async with sessions[0].post(f"{url}/chat/completions", data=body, headers=headers) as answer:
            async for piece in answer.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[2]), port=int(sys.argv[1]), log_level="error", ws="none", lifespan="off")
