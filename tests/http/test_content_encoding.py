"""Bodies of requests that are encoded: which encodings are read, and that the limit is one of decoded bytes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from tests.wire.configuration import Key, Server, Settings
from tests.wire.encodings import ENCODINGS, packed
from tests.wire.program import serving

KB: Final = 1024
MB: Final = 1024 * 1024
JSON: Final = {"content-type": "application/json"}
SMALL: Final = Settings(server=Server(max_body_bytes=100 * KB))
BOMBS: Final = {
    "gzip": packed("gzip", bytes(MB)) * 100,
    "zstd": packed("zstd", bytes(100 * MB)),
}
"""Bodies that become a thousand times as long (gzip; it cannot do more), and 10,000 times (zstd)."""


def ask(url: str, text: bytes, encoding: str | None = None, key: str = "", path: str = "") -> tuple[int, str]:
    """Status and error code of a request for this input, encoded if its encoding is known."""
    body = b'{"model": "demo", "input": ' + text + b"}"
    headers = JSON if encoding is None else {**JSON, "content-encoding": encoding}
    if encoding is not None and encoding.lower() in ENCODINGS:
        body = packed(encoding.lower(), body)
    if key:
        headers = {**headers, "authorization": f"Bearer {key}"}
    answer = httpx.post(f"{url}/v1/responses{path}", content=body, headers=headers, timeout=30)
    assert ("accept-encoding" in answer.headers) == (answer.status_code == 415)
    return answer.status_code, answer.json()["error"]["code"] if answer.is_error else ""


FINE: Final = (200, "")
OTHER: Final = (415, "unsupported_encoding")
NAMES: Final = {
    "zstd": FINE,
    "gzip": FINE,
    "x-gzip": FINE,
    "GZip": FINE,
    "identity": FINE,
    "Identity": FINE,
    "": FINE,
    "br": OTHER,
    "deflate": OTHER,
    "compress": OTHER,
    "*": OTHER,
    "gzip;q=1": OTHER,
    "gzip, zstd": OTHER,
    "gzip,gzip": OTHER,
    "identity, zstd": OTHER,
}


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
@pytest.mark.parametrize(
    ("size", "wanted"), [(99 * KB, FINE), (101 * KB, (413, "request_too_large")), (50 * MB, (413, "request_too_large"))]
)
def test_the_limit_is_one_of_decoded_bytes(encoding: str, size: int, wanted: tuple[int, str]) -> None:
    with serving(SMALL) as url:
        assert ask(url, b'"' + b"x" * size + b'"', encoding) == wanted


@pytest.mark.parametrize(("encoding", "body"), BOMBS.items(), ids=BOMBS)
def test_bombs_of_one_caller_leave_the_others_alone(encoding: str, body: bytes) -> None:
    def throw(url: str) -> int:
        headers = {**JSON, "content-encoding": encoding, "authorization": "Bearer alice"}
        return httpx.post(f"{url}/v1/responses", content=body, headers=headers, timeout=30).status_code

    keys = [Key(name=name, value=name) for name in ("alice", "bob")]
    with (
        serving(Settings(server=Server(max_body_bytes=8 * MB), keys=keys)) as url,
        ThreadPoolExecutor(6) as throwers,
    ):
        thrown = [throwers.submit(throw, url) for _ in range(18)]
        assert [ask(url, b'"Hi"', key="bob") for _ in range(10)] == [FINE] * 10
        assert {each.result() for each in thrown} <= {413, 429}
        assert ask(url, b'"' + b"x" * 7 * MB + b'"', key="alice") == FINE
