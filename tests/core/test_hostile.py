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
    ("answer", "code"),
    [
        (CHUNKED + b"\r\nx: " + b"x" * 1_000_000, "upstream_error"),
        (b"".join([CHUNKED, *[b"\r\nx%d: x" % n for n in range(50_000)]]), "upstream_error"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 40000000\r\n\r\ndata: " + b"x" * 40_000_000, "upstream_error"),
        (b"HTTP/1.1 500 No\r\ncontent-length: 9000000\r\n\r\n" + b"<html>" * 1_500_000, "upstream_error"),
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", "upstream_error"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "upstream_error"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>", "upstream_error"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 6\r\n\r\nabcdef", "upstream_error"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\ndata: {", "upstream_error"),
    ],
    ids=[
        "long line in the head",
        "long head",
        "long line",
        "bomb",
        "redirect",
        "not HTTP",
        "page",
        "compressed",
        "half an answer",
    ],
)
async def test_a_hostile_model_server_is_a_clear_error(answer: bytes, code: str, tmp_path: Path) -> None:
    script: Any = answer if not answer.endswith(b"data: {") else answer + b" "
    async with upstream(script) as up, served(tmp_path, up.url, table="retries = 0\ntimeout = 2\n") as url:
        got = await talk(url, post(ASK))
        status = int(got.split(b" ")[1])
        assert status in {502, 504}
        error = json.loads(got.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == (code if status == 502 else "upstream_timeout")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://127.0.0.1:{}/v1", b"accepted no connection in time"),
        ("http://nowhere.invalid/v1", b"its name has no address"),
        ("http://127.0.0.1:1/v1", b"refused the connection"),
    ],
)
async def test_a_server_that_cannot_be_reached(url: str, words: bytes, tmp_path: Path) -> None:
    async with upstream(says("a")) as up:
        port = up.url.split(":")[2].split("/")[0]
        async with served(tmp_path, url.format(port), table="retries = 0\n") as address:
            got = await talk(address, post(ASK))
            assert got.startswith(b"HTTP/1.1 502 ")
            assert words in got


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post(b"[" * 100_000 + b"]" * 100_000), 400),
        (post(b'{"model": "m", "input": ' + b"[" * 5000 + b"]" * 5000 + b"}"), 400),
        (post(b"{"), 400),
        (post(b'{"model": "m", "input": "' + b"x" * 34_000_000 + b'"}'), 413),
        (b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (post(b'{"model": "m", "input": [' + b"1," * 1_100_000 + b"1]}"), 400),
        (b"nonsense\r\n\r\n", 400),
        (post(ASK, "authorization: Bearer a", "authorization: Bearer b"), 401),
    ],
    ids=["deep", "deep input", "broken", "32 MB", "long head", "many values", "not HTTP", "two keys"],
)
async def test_a_hostile_client_gets_a_clear_answer(request_: bytes, status: int, tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        got = await talk(url, request_)
        assert got.startswith(b"HTTP/1.1 %d " % status), got[:200]
        assert (await talk(url, post(ASK))).startswith(b"HTTP/1.1 200 ")


async def test_two_keys_are_refused_where_there_are_keys(tmp_path: Path) -> None:
    key = '\n[[keys]]\nname = "a"\nvalue = "key-of-a"\n'
    async with upstream(says("a")) as up, served(tmp_path, up.url, table=key) as url:
        mine = "authorization: Bearer key-of-a"
        assert (await talk(url, post(ASK, mine))).startswith(b"HTTP/1.1 200 ")
        for headers in ([], [mine, mine], ["authorization: Bearer other"]):
            assert (await talk(url, post(ASK, *headers))).startswith(b"HTTP/1.1 401 ")
        assert (await talk(url, post(ASK, mine.replace("Bearer", "bearer")))).startswith(b"HTTP/1.1 200 ")
        refused = post(ASK, "x: 1").replace(b"connection: close\r\n", b"")
        late = await talk(url, refused[:-5], 0.2, refused[-5:] + post(ASK, mine))
        assert [part[:4] for part in late.split(b"HTTP/1.1 ")[1:]] == [b"401 ", b"200 "]


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


async def test_the_offer_of_http_2_is_struck_out(tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        body = json.dumps(ASK).encode()
        head = "POST /v1/responses HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        head += "".join([f"{header}\r\n" for header in HEADERS])
        head += f"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\ncontent-length: {len(body)}\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(head.encode() + body)
        assert (await asyncio.wait_for(reader.readline(), 5)).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_an_empty_line_behind_a_body_harms_no_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_TIME", 0.1)
    async with upstream([*says("a")[:1], 0.4, *says("b")]) as up, served(tmp_path, up.url) as url:
        got = await talk(url, post({**ASK, "stream": True}) + b"\r\n")
        assert got.startswith(b"HTTP/1.1 200 ")
        assert b"response.completed" in got
        assert b" 408 " not in got


@pytest.mark.parametrize("more", [{"choice": "zzz"}, {"offers": [1]}, {"é": 1}, {f"p{n}": 1 for n in range(90)}])
async def test_unknown_parameters_are_warned_of_and_nothing_else(more: dict[str, Any], tmp_path: Path) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        got = await talk(url, post({**ASK, **more}))
        assert got.startswith(b"HTTP/1.1 200 ")
        [header] = [line for line in got.split(b"\r\n") if line.startswith(b"x-am-warnings: ")]
        assert len(header) < 4100
        assert "no effect" in json.loads(header.partition(b": ")[2])[0]


async def test_a_schema_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    schema = b'{"type":"object","properties":{"a":' * 440 + b"{}" + b"}}" * 440
    body = b'{"model":"m","input":"Hi","tools":[{"type":"function","name":"f","parameters":%b}]}' % schema
    async with upstream(says("a")) as up, served(tmp_path, up.url) as url:
        assert (await talk(url, post(body))).startswith(b"HTTP/1.1 400 ")
