"""Bodies of requests that are encoded: decoded in steps, within the limits of any other body."""

import asyncio
import itertools
import threading
from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.types import Message

from app.protocol.problems import ProblemError
from app.settings import Key, Server
from app.transports import content_encoding
from app.transports.content_encoding import STEP, BodyDecoder
from app.transports.receiving import Bodies
from app.turns.quota import Quota
from tests.support.decoding import fault
from tests.wire.encodings import ENCODINGS, packed

KEYS: Final = tuple(Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob"))
KB: Final = 1024
MB: Final = 1024 * 1024
JSON: Final = {"content-type": "application/json"}
EARLY: Final = "ends too early."


async def read(encoding: str, pieces: list[bytes], limit: int, quota: Quota) -> bytes:
    """What a server makes of a body that arrives in these pieces."""
    waiting = iter([*({"body": piece, "more_body": True} for piece in pieces), {}])

    async def receive() -> Message:
        return {"type": "http.request", **next(waiting)}

    bodies = Bodies(Server(max_body_bytes=limit), quota)
    headers = Headers({**JSON, "content-encoding": encoding})
    async with bodies.read(headers, receive, KEYS[0]) as body:
        return body


PIECES: Final = st.lists(st.binary(max_size=300), max_size=6)


@given(encoding=st.sampled_from(ENCODINGS), frames=PIECES, cuts=st.lists(st.integers(0, 2000)), data=st.data())
def test_wherever_the_pieces_end(encoding: str, frames: list[bytes], cuts: list[int], data: st.DataObject) -> None:
    """The same comes of any frames, pieces, steps and inputs of a decoder; and of any part of them nothing."""
    frames = [frame * 7 for frame in frames] or [b""]
    body = b"".join(packed(encoding, frame) for frame in frames)
    wanted = b"".join(frames)
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [body[start:end] for start, end in itertools.pairwise(places)]
    missing = data.draw(st.integers(1, len(packed(encoding, frames[-1])) - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_encoding, "STEP", data.draw(st.integers(1, 300)))
        patch.setattr(content_encoding, "PIECE", data.draw(st.integers(1, 300)))
        limit, quota = max(1024, len(wanted)), Quota(10_000, 10_000)
        assert asyncio.run(read(encoding, pieces, limit, quota)) == wanted
        assert quota.take(KEYS[0], 10_000)  # all of it has been given back
        assert fault(encoding, body[:-missing]).startswith(EARLY)


@given(encoding=st.sampled_from(ENCODINGS), data=st.binary(max_size=400), valid=st.booleans())
def test_what_is_nonsense_is_refused_and_nothing_is_kept(encoding: str, data: bytes, valid: bool) -> None:  # noqa: FBT001
    body = packed(encoding, b"x" * 2000) + data if valid else data
    quota = Quota(10_000, 10_000)
    if valid and not data:
        assert asyncio.run(read(encoding, [body], 9000, quota)) == b"x" * 2000
    else:
        with pytest.raises(ProblemError, match=f"^The body has `Content-Encoding: {encoding}`, but it "):
            asyncio.run(read(encoding, [body], 9000, quota))
    assert quota.take(KEYS[0], 10_000)


BOMBS: Final = {
    "gzip": packed("gzip", bytes(MB)) * 100,
    "zstd": packed("zstd", bytes(100 * MB)),
}
"""Bodies that become a thousand times as long (gzip; it cannot do more), and 10,000 times (zstd)."""


@pytest.mark.parametrize(("encoding", "bomb"), BOMBS.items(), ids=BOMBS)
def test_of_a_bomb_no_more_is_decoded_than_a_step_beyond_the_limit(
    encoding: str, bomb: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[int, str]] = []
    step = BodyDecoder.step

    def counted(decoder: BodyDecoder) -> bytes:
        result = step(decoder)
        steps.append((len(result), threading.current_thread().name.rpartition("_")[0]))
        return result

    monkeypatch.setattr(BodyDecoder, "step", counted)
    assert len(bomb) < 100 * MB // (900 if encoding == "gzip" else 10_000)
    with pytest.raises(ProblemError) as caught:
        asyncio.run(read(encoding, [bomb], MB, Quota(10 * MB, 10 * MB)))
    assert caught.value.problem.code == "request_too_large"
    assert caught.value.problem.message == "The decoded body is longer than the 1048576 bytes this server reads."
    assert sum(size for size, _ in steps) <= MB + STEP
    assert {thread for _, thread in steps[1:]} == {"am-proxy-long-work"}  # not on the event loop


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_decoded_bytes_count_as_the_callers(encoding: str) -> None:
    async def hold() -> None:
        quota = Quota(200 * KB, 150 * KB)
        body = packed(encoding, b"x" * 100 * KB)

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        bodies = Bodies(Server(max_body_bytes=100 * KB), quota)
        headers = Headers({**JSON, "content-encoding": encoding})
        async with bodies.read(headers, receive, KEYS[0]):
            assert not quota.take(KEYS[0], 51 * KB)
            assert quota.take(KEYS[0], 50 * KB)
            with pytest.raises(ProblemError) as caught:
                async with bodies.read(headers, receive, KEYS[0]):
                    pass
            assert caught.value.problem.code == "rate_limit_exceeded"
            quota.give_back(KEYS[0], 50 * KB)
        assert quota.take(KEYS[0], 150 * KB)

    asyncio.run(hold())


def test_the_longest_body_fits_however_badly_it_is_compressed() -> None:
    """What has been decoded is not counted as it came any more."""
    body = b"".join(packed("gzip", b"x") for _ in range(900))
    quota = Quota(len(body) + KB, len(body) + KB)
    assert asyncio.run(read("gzip", [body], len(body), quota)) == b"x" * 900
