"""Bodies that become a thousand times as long (gzip; it cannot do more), and 10,000 times (zstd), many at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from tests.wire.configuration import Key, Server, Settings
from tests.wire.encodings import packed
from tests.wire.program import serving

MB: Final = 1024 * 1024
JSON: Final = {"content-type": "application/json"}
SETTINGS: Final = Settings(
    server=Server(max_body_bytes=8 * MB), keys=[Key(name=name, value=name) for name in ("alice", "bob")]
)


def ask(url: str, key: str, body: bytes, **headers: str) -> int:
    """The status of what a caller posts."""
    headers = {**JSON, **headers, "authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/v1/responses", content=body, headers=headers, timeout=30).status_code


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_bombs_of_one_caller_leave_the_others_alone(encoding: str) -> None:
    bomb, fine = packed(encoding, bytes(100 * MB)), b'{"model": "demo", "input": "%s"}'
    with serving(SETTINGS) as url, ThreadPoolExecutor(6) as throwers:
        thrown = [throwers.submit(ask, url, "alice", bomb, **{"content-encoding": encoding}) for _ in range(18)]
        assert [ask(url, "bob", fine % b"Hi") for _ in range(10)] == [200] * 10
        assert {each.result() for each in thrown} <= {413, 429}
        assert ask(url, "alice", fine % (b"x" * 7 * MB)) == 200
