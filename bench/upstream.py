"""The scripted upstream: chat completions at the speed in the model's name.

`b-200-20` answers with 200 chunks, 20 ms apart; with 0 it sends all at once.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import chain, islice

import uvloop

WORD = "word "
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
BATCH = 20
"""Chunks in one write where nothing paces them."""


def chat_frames(count: int) -> Iterator[bytes]:
    """A chat-completions stream."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def frame(delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + json.dumps({**base, "choices": [choice]}).encode() + b"\n\n"

    yield frame({"role": "assistant", "content": ""})
    word = frame({"content": WORD})
    for _ in range(count):
        yield word
    yield frame({}, "stop")
    usage = {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}
    yield b"data: " + json.dumps({**base, "choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def chat_body(count: int) -> bytes:
    """The same answer, not streamed."""
    message = {"role": "assistant", "content": WORD * count}
    usage = {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps({**body, "usage": usage}).encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serves one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.split(b"content-length:", 1)
            size = int(length[1].split(b"\r\n", 1)[0]) if len(length) > 1 else 0
            ask = json.loads(await reader.readexactly(size)) if size else {}
            await answer(ask, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(ask: dict[str, object], writer: asyncio.StreamWriter) -> None:
    """Answers one request, by the model's name."""
    _, count, pace = str(ask.get("model", "b-1-0")).rsplit("/", 1)[-1].split("-")
    if not ask.get("stream"):
        body = chat_body(int(count))
        writer.write(JSON_HEAD % len(body) + body)
        return
    frames = chat_frames(int(count))
    frames = chain([next(frames) + next(frames)], frames)  # the first word comes with the opening
    writer.write(HEAD)
    size = 1 if int(pace) else BATCH
    while batch := list(islice(frames, size)):
        writer.write(b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in batch))
        await writer.drain()
        await asyncio.sleep(int(pace) / 1000)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def main(port: int) -> None:
    """Runs the server until it is killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 22)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
