"""Hostile model servers and hostile clients: each ends clearly, within its time."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.api import protocol
from tests.core.servers import HEAD, says, served, upstream

HEADERS = ("host: localhost", "content-type: application/json")
CHUNKED = HEAD.removesuffix(b"\r\n\r\n")


async def talk(url: str, *pieces: bytes | float, seconds: float = 10) -> bytes:
    """What a server answers to these bytes, until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    async with asyncio.timeout(seconds):
        for piece in pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
                continue
            writer.write(piece)
            try:
                await writer.drain()
            except ConnectionError:
                break
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


def post(body: bytes | dict[str, Any], *headers: str) -> bytes:
    """A request."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = ["POST /v1/responses HTTP/1.1", *HEADERS, "connection: close", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


ASK = {"model": "m", "input": "Hi"}


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"\r\nx: " + b"x" * 1_000_000,
        b"".join([CHUNKED, *[b"\r\nx%d: x" % n for n in range(50_000)]]),
        b"HTTP/1.1 200 OK\r\ncontent-length: 40000000\r\n\r\ndata: " + b"x" * 40_000_000,
        b"HTTP/1.1 500 No\r\ncontent-length: 9000000\r\n\r\n" + b"<html>" * 1_500_000,
    ],
    ids=["long line in the head", "long head", "long line", "bomb"],
)
async def test_a_model_server_that_says_too_much_is_a_clear_error(answer: bytes, tmp_path: Path) -> None:
    async with upstream(answer) as up, served(tmp_path, up.url, table="retries = 0\ntimeout = 2\n") as url:
        got = await talk(url, post(ASK))
    assert got.startswith(b"HTTP/1.1 502 ")
    assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "upstream_error"


async def test_a_server_without_tls_cannot_be_reached_by_it(tmp_path: Path) -> None:
    async with (
        upstream(says("a")) as up,
        served(tmp_path, up.url.replace("http", "https"), table="retries = 0\n") as url,
    ):
        got = await talk(url, post(ASK))
    assert got.startswith(b"HTTP/1.1 502 ")
    assert b"accepted no connection in time" in got


async def test_a_connection_goes_on_behind_a_refusal(tmp_path: Path) -> None:
    key = '\n[[keys]]\nname = "a"\nvalue = "key-of-a"\n'
    async with upstream(says("a")) as up, served(tmp_path, up.url, table=key) as url:
        refused = post(ASK, "x: 1").replace(b"connection: close\r\n", b"")
        late = await talk(url, refused[:-5], 0.2, refused[-5:] + post(ASK, "authorization: bearer key-of-a"))
        assert [part[:4] for part in late.split(b"HTTP/1.1 ")[1:]] == [b"401 ", b"200 "]


async def test_warnings_of_any_letters_are_a_header(tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        got = await talk(url, post({**ASK, "é": 1}))
    [header] = [line for line in got.split(b"\r\n") if line.startswith(b"x-am-warnings: ")]
    assert "'é' has no effect" in json.loads(header.partition(b": ")[2])[0]


async def test_a_slow_head_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_TIME", 0.3)
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        assert (await talk(url, b"POST /v1/responses HTTP/1.1\r\n")).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("chunk", "trailers", "status"),
    [(b"%x", 100, b"HTTP/1.1 200 "), (b"%x", 5000, b""), (b"%x;" + b"y" * 300_000, 0, b"")],
    ids=["few trailers", "many trailers", "a long extension of a chunk"],
)
async def test_what_is_no_body_is_bounded(chunk: bytes, trailers: int, status: bytes, tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        body = json.dumps(ASK).encode()
        head = post(b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
        rest = [b"x%d: %b\r\n" % (n, b"y" * 90) for n in range(trailers)]
        last = b"\r\n" if status else b""
        got = await talk(url, head, 0.1, chunk % len(body) + b"\r\n" + body + b"\r\n0\r\n", b"".join(rest) + last)
        assert got[:13] == status


async def test_half_requests_leave_nothing(tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        whole = post(ASK)
        for size in range(1, len(whole), 7):
            _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(whole[:size])
            await writer.drain()
            writer.transport.abort()
        assert (await talk(url, whole)).startswith(b"HTTP/1.1 200 ")


async def test_an_empty_line_behind_a_body_harms_no_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_TIME", 0.1)
    async with upstream([*says("a")[:1], 0.4, *says("b")]) as up, served(tmp_path, up.url) as url:
        got = await talk(url, post({**ASK, "stream": True}) + b"\r\n")
        assert got.startswith(b"HTTP/1.1 200 ")
        assert b"response.completed" in got
        assert b" 408 " not in got
