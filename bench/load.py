"""The load generator: sends requests in parallel, reads each answer, and prints the results as a JSON line."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import uvloop


class Job(NamedTuple):
    """One workload at one address."""

    port: int
    path: str
    body: bytes
    requests: int
    concurrency: int


async def work(job: Job) -> dict[str, Any]:
    """Runs the job; returns its duration and its first faults."""
    left = iter(range(job.requests))
    faults: list[str] = []
    began = time.perf_counter()
    await asyncio.gather(*(client(job, left, faults) for _ in range(job.concurrency)))
    return {"seconds": time.perf_counter() - began, "faults": faults[:3]}


async def client(job: Job, left: Iterator[int], faults: list[str]) -> None:
    """One keep-alive connection."""
    head = (
        f"POST {job.path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer sk-bench\r\ncontent-length: {len(job.body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", job.port, limit=1 << 24)
    for _ in left:
        writer.write(head.encode() + job.body)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = answer.split(b" ", 2)[1]
        lower = answer.lower()
        if b"content-length:" in lower:
            size = int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            body = await reader.readexactly(size)
        else:
            body = await chunked(reader)
        if status != b"200" or b"word" not in body:
            faults.append((answer + body)[:600].decode(errors="replace"))
            break
        if b"connection: close" in lower:
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", job.port, limit=1 << 24)
    writer.close()


async def chunked(reader: asyncio.StreamReader) -> bytes:
    """Reads a chunked body; returns its first piece that holds a word."""
    kept = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        data = await reader.readexactly(size + 2)
        if not kept and b"word" in data:
            kept = data
    await reader.readexactly(2)
    return kept


if __name__ == "__main__":
    told = json.loads(sys.stdin.read())
    told["body"] = json.dumps(told["body"]).encode()
    print(json.dumps(uvloop.run(work(Job(**told)))))
