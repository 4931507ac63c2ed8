"""The scripted upstream: chat completions, Messages and Responses, at the speed in the model's name.

`b-200-20` answers with 200 chunks, 20 ms apart; with 0 it sends all at once. In all dialects the
opening events are sent together with the first word, so that their number does not change the time to the first word.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice

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


def message_frames(count: int) -> Iterator[bytes]:
    """A stream of the Messages API."""

    def frame(kind: str, **fields: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    message: dict[str, object] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1},
    }  # fmt: skip
    yield frame("message_start", message=message)
    yield frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield frame("ping")
    word = frame("content_block_delta", index=0, delta={"type": "text_delta", "text": WORD})
    for _ in range(count):
        yield word
    yield frame("content_block_stop", index=0)
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield frame("message_delta", delta=end, usage={"output_tokens": count})
    yield frame("message_stop")


def response_frames(count: int) -> Iterator[bytes]:
    """A Responses stream."""
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": [],
        "tools": [], "tool_choice": "auto", "usage": None, "error": None, "metadata": {},
    }  # fmt: skip
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    number = iter(range(1_000_000_000))

    def frame(kind: str, **fields: object) -> bytes:
        data = json.dumps({"type": kind, "sequence_number": next(number), **fields})
        return f"event: {kind}\ndata: {data}\n\n".encode()

    yield frame("response.created", response=response)
    yield frame("response.in_progress", response=response)
    yield frame("response.output_item.added", output_index=0, item=item)
    part: dict[str, object] = {"type": "output_text", "text": "", "annotations": []}
    yield frame("response.content_part.added", **where, part=part)
    for _ in range(count):
        yield frame("response.output_text.delta", **where, delta=WORD, logprobs=[])
    part = {**part, "text": WORD * count}
    yield frame("response.output_text.done", **where, text=part["text"], logprobs=[])
    yield frame("response.content_part.done", **where, part=part)
    done = {**item, "status": "completed", "content": [part]}
    yield frame("response.output_item.done", output_index=0, item=done)
    usage = {
        "input_tokens": 10, "output_tokens": count, "total_tokens": 10 + count,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    yield frame("response.completed", response={**response, "status": "completed", "output": [done], "usage": usage})
    yield b"data: [DONE]\n\n"


Frames = Callable[[int], Iterator[bytes]]
"""The frames of an answer of so many words."""
FRAMES: dict[bytes, Frames] = {
    b"/responses": response_frames,
    b"/messages": message_frames,
    b"/chat/completions": chat_frames,
}
"""How a path ends, and what it answers with."""
OPENING: dict[Frames, int] = {response_frames: 5, message_frames: 4, chat_frames: 2}
"""Frames up to the first word."""


def together(frames: Iterator[bytes], first: int) -> Iterator[bytes]:
    """Joins the first frames into one, followed by the others."""
    yield b"".join(islice(frames, first))
    yield from frames


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serves one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.split(b"content-length:", 1)
            size = int(length[1].split(b"\r\n", 1)[0]) if len(length) > 1 else 0
            ask = json.loads(await reader.readexactly(size)) if size else {}
            await answer(ask, head.split(b" ", 2)[1], writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(ask: dict[str, object], path: bytes, writer: asyncio.StreamWriter) -> None:
    """Answers one request, by the model's name."""
    _, count, pace = str(ask.get("model", "b-1-0")).rsplit("/", 1)[-1].split("-")
    if not ask.get("stream"):
        body = chat_body(int(count))
        writer.write(JSON_HEAD % len(body) + body)
        return
    framed = next((framed for ending, framed in FRAMES.items() if path.endswith(ending)), chat_frames)
    frames = framed(int(count))
    writer.write(HEAD)
    if int(pace):
        for frame in together(frames, OPENING[framed]):
            writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            await asyncio.sleep(int(pace) / 1000)
    else:
        batch: list[bytes] = []
        for frame in frames:
            batch.append(b"%x\r\n%b\r\n" % (len(frame), frame))
            if len(batch) == BATCH:
                writer.write(b"".join(batch))
                batch.clear()
                await writer.drain()
        writer.write(b"".join(batch))
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def main(port: int) -> None:
    """Runs the server until it is killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 22)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
