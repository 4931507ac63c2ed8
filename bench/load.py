"""The load generator: sends requests in parallel, reads each answer, and prints the results as a JSON line."""

import asyncio
import json
import sys
import time
from typing import Any, NamedTuple

import uvloop

LAST = (b"0\r\n\r\n",)
MOST = 1000
"""Times that are told, evenly chosen of all."""


class Job(NamedTuple):
    """One workload at one address."""

    host: str
    port: int
    path: str
    body: bytes
    requests: int
    concurrency: int
    stream: bool
    evenly: bool = False
    """Whether each connection sends as many requests as any other; otherwise the fast ones send more."""


async def work(job: Job) -> dict[str, Any]:
    """Runs the job; returns its duration and the times to the first words."""
    left = iter(range(job.requests))
    each = job.requests // job.concurrency
    lefts = [iter(range(each)) if job.evenly else left for _ in range(job.concurrency)]
    firsts: list[float] = []
    faults: list[str] = []
    began = time.perf_counter()
    await asyncio.gather(*(client(job, left, firsts, faults) for left in lefts))
    seconds = time.perf_counter() - began
    few = sorted(firsts)[:: len(firsts) // MOST + 1]  # nobody reads the pipe before the end, and it holds 64 kB
    return {"seconds": seconds, "firsts": few, "faults": faults[:3]}


async def client(job: Job, left: Any, firsts: list[float], faults: list[str]) -> None:
    """One keep-alive connection."""
    head = (
        f"POST {job.path} HTTP/1.1\r\nhost: {job.host}:{job.port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer sk-bench\r\ncontent-length: {len(job.body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(job.host, job.port, limit=1 << 24)
    for _ in left:
        asked = time.perf_counter()
        writer.write(head.encode() + job.body)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = answer.split(b" ", 2)[1]
        lower = answer.lower()
        if b"content-length:" in lower:
            size = int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            body = await reader.readexactly(size)
            firsts.append(time.perf_counter() - asked)
        else:
            body = await chunked(reader, asked, firsts)
        if status != b"200" or b"word" not in body:
            faults.append((answer + body)[:600].decode(errors="replace"))
            break
        if b"connection: close" in lower:
            writer.close()
            reader, writer = await asyncio.open_connection(job.host, job.port, limit=1 << 24)
    writer.close()


async def chunked(reader: asyncio.StreamReader, asked: float, firsts: list[float]) -> bytes:
    """Reads a chunked body and the time of its first word, which a user waits for."""
    kept = b""
    seen = False
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        data = await reader.readexactly(size + 2)
        if size == 0:
            return kept
        if not seen and b"word" in data:
            seen = True
            firsts.append(time.perf_counter() - asked)
            kept = data


if __name__ == "__main__":
    told = json.loads(sys.stdin.read())
    told["body"] = json.dumps(told["body"]).encode()
    print(json.dumps(uvloop.run(work(Job(**told)))))
