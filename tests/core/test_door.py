"""The way in: compressed bodies, limits of callers, and who is told which upstream answered."""

import asyncio
import gzip
import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.datastructures import Headers

from app.api.body import Body, decoded
from app.api.state import State
from app.api.websocket import WebSockets
from app.settings.load import load
from app.settings.tables import Caller, ServerSettings
from app.turns import limits
from app.turns.turn import STOPPED
from app.types.problems import ProblemError
from tests.core.servers import says, served, until, upstream
from tests.core.test_hostile import ASK, post, talk

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST = 10_000


@pytest.mark.parametrize(
    ("body", "encoding", "result"),
    [
        (gzip.compress(b"ab"), "gzip", b"ab"),
        (gzip.compress(b"ab") + gzip.compress(b"cd"), "gzip", b"abcd"),
        (zstd.compress(b"ab") + zstd.compress(b"cd"), "zstd", b"abcd"),
        (gzip.compress(b"x" * MOST) * 2, "gzip", b"x" * (MOST + 1)),
        (gzip.compress(b"ab") * 2 + b"c", "gzip", None),
        (gzip.compress(b"ab") + gzip.compress(b"cd")[:-1], "gzip", None),
        (gzip.compress(b"x" * MOST), "gzip", b"x" * MOST),
        (zstd.compress(b"x" * 10**8), "zstd", b"x" * (MOST + 1)),
        (gzip.compress(b"x" * 10**8), "gzip", b"x" * (MOST + 1)),
        (gzip.compress(b"ab")[:-1], "gzip", None),
        (gzip.compress(b"ab") + b"c", "gzip", None),
        (gzip.compress(b"a") * 20, "gzip", b"a" * 20),
        (gzip.compress(b"") * 2000, "gzip", None),
        (b"", "zstd", None),
    ],
    ids=range(14),
)
def test_a_body_is_decoded_within_its_bound(body: bytes, encoding: str, result: bytes | None) -> None:
    if result is not None:
        assert decoded(body, encoding, MOST) == result
        return
    with pytest.raises(ProblemError):
        decoded(body, encoding, MOST)


async def test_a_body_is_not_read_on_where_the_server_stops_as_a_piece_comes() -> None:
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    reading: set[asyncio.Timeout] = set()
    headers = Headers({"content-type": "application/json"})
    task = asyncio.ensure_future(Body(pieces.get, headers, reading).read(MOST))
    await until(lambda: len(reading) == 1)
    pieces.put_nowait({"type": "http.request", "body": b"{", "more_body": True})
    reading.pop().reschedule(0)
    with pytest.raises(ProblemError) as ended:
        await asyncio.wait_for(task, 5)
    assert ended.value.problem == STOPPED


def test_the_requests_of_a_minute_come_back_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("app.turns.limits.time.monotonic", lambda: now)
    counted, caller, server = limits.Limits(), Caller(owner="a", requests_per_minute=6), ServerSettings()
    for _ in range(6):
        with counted.slot(caller, server):
            pass
    with pytest.raises(ProblemError) as refused, counted.slot(caller, server):
        pass
    assert refused.value.problem.retry_after == 10
    now += 10
    with counted.slot(caller, server):
        assert counted.headers(caller)["x-ratelimit-reset-requests"] == "1m0s"
    with counted.slot(Caller(owner="b"), server):
        pass


_KEYS = """
[[keys]]
name = "all"
value = "key-of-all"
[[keys]]
name = "some"
value = "key-of-some"
models = ["m*"]
"""


@pytest.mark.parametrize(
    ("table", "header", "told"),
    [
        ("", "", True),
        ("", "x-forwarded-for: 203.0.113.5", False),
        (_KEYS, "authorization: Bearer key-of-all", True),
        (_KEYS, "authorization: Bearer key-of-some", False),
    ],
    ids=["this machine's user", "through a proxy", "key for all models", "key for some"],
)
async def test_who_may_know_it_is_told_which_upstream_answered(
    tmp_path: Path, table: str, header: str, *, told: bool
) -> None:
    async with upstream(says("a")) as up, served(tmp_path, up.url, table=table) as url:
        for body in (ASK, {**ASK, "stream": True}):
            answer = await talk(url, post(body, *[header] if header else []))
            assert answer.startswith(b"HTTP/1.1 200")
            assert (b"\r\nx-am-upstream: u\r\n" in answer) == told


SCOPE: Final = {"type": "websocket", "path": "/v1/responses", "headers": [], "request_id": "req_1"}


def state_of(path: Path) -> State:
    file = path / "am-proxy.toml"
    file.write_text('[upstreams.d]\nvia = "demo"\n[models.m]\nupstream = "d"\n')
    return State(load(file, {}, {}))


@pytest.mark.parametrize(
    ("idle", "lifetime", "code"), [(0.05, 60, None), (60, 0.05, "websocket_connection_limit_reached")]
)
async def test_a_websocket_ends_when_it_is_idle_or_old(
    idle: float, lifetime: float, code: str | None, tmp_path: Path
) -> None:
    state = state_of(tmp_path)
    frame = json.dumps({"type": "response.create", "model": "m", "input": "Hello!"})
    said: list[Any] = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": frame}]
    heard: list[Any] = []

    async def receive() -> Any:
        return said.pop(0) if said else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        heard.append(message)

    await WebSockets(state, idle=idle, lifetime=lifetime)(SCOPE, receive, send)
    texts = [json.loads(message["text"]) for message in heard if "text" in message]
    assert [text["error"]["code"] for text in texts if text["type"] == "error"] == ([code] if code else [])
    assert [text["type"] for text in texts].index("response.completed") == len(texts) - (2 if code else 1)
    assert heard[-1] == {"type": "websocket.close", "code": 1001}


async def test_between_large_frames_of_websockets_there_is_time_for_others(tmp_path: Path) -> None:
    sockets, done = WebSockets(state_of(tmp_path)), []

    async def others() -> None:
        while True:
            done.append("others")
            await asyncio.sleep(0)

    async def client() -> None:
        frame = {"type": "websocket.receive", "text": "x" * 2_000_000}
        said: list[Any] = [{"type": "websocket.connect"}, frame, {"type": "websocket.disconnect"}]

        async def receive() -> Any:
            return said.pop(0)

        async def send(message: Any) -> None:
            done.append(message["type"])

        await sockets(SCOPE, receive, send)

    running = asyncio.ensure_future(others())
    await asyncio.gather(*[client() for _ in range(3)])
    running.cancel()
    _, *between, _ = " ".join(done).split("websocket.send")
    assert [each.count("others") > 5 for each in between] == [True, True]
