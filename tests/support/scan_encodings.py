"""The last part of `make scan`: what the largest compressed bodies cost. Writes its part of docs/limits.md."""

import http.client
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.support import limits_page
from tests.support.running import Running, running
from tests.support.scan_server import CONFIG, HEAD, LIMIT, Seen, one, quietest, settle, upstream
from tests.wire.encodings import packed, with_window

START: Final = b'{"model": "m", "input": "'
MOST: Final = LIMIT - 100
"""Bytes of the text of a request that is as long as may be."""


def _request(text: bytes) -> bytes:
    return START + text + b'"}'


def bodies() -> Iterator[tuple[str, str, bytes]]:
    """Name, encoding and bytes of each body."""
    words = [bytes(random.Random(number).choices(b"abcdefgh ", k=7)) for number in range(3000)]  # noqa: S311 — no secret
    text = b"".join(random.Random(1).choices(words, k=MOST // 7))  # noqa: S311 — no secret
    noise = random.Random(2).randbytes(MOST // 2).hex().encode()  # noqa: S311 — no secret
    for encoding in ("zstd", "gzip"):
        yield f"words, {encoding}", encoding, packed(encoding, _request(text))
        yield f"digits, {encoding}", encoding, packed(encoding, _request(noise))
        yield f"one character, {encoding}", encoding, packed(encoding, _request(b"x" * MOST))
        yield f"a bomb of 1 GB, {encoding}", encoding, packed(encoding, bytes(1 << 23)) * 128
    yield "the largest window, zstd", "zstd", with_window(_request(text), 23)
    yield "empty frames, zstd", "zstd", packed("zstd", b"") * (MOST // len(packed("zstd", b"")))
    yield "empty blocks, zstd", "zstd", b"\x28\xb5\x2f\xfd\x00\x68" + bytes(3) * (MOST // 3)
    yield "empty blocks, gzip", "gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\0\0\0\xff\xff" * (MOST // 5)


def poster(encoding: str) -> Callable[[Running, bytes], int]:
    """Sends bodies in this encoding; the status of the answer."""

    def post(server: Running, given: bytes) -> int:
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
        headers = {"content-type": "application/json", "content-encoding": encoding}
        connection.request("POST", "/v1/responses", given, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    return post


def scan() -> list[Seen]:
    """Every body, each at a server of its own."""
    seen: list[Seen] = []
    for name, encoding, given in bodies():

        def measured(name: str = name, encoding: str = encoding, given: bytes = given) -> Seen:
            with upstream() as url, tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "config.toml").write_text(CONFIG.format(via="chat", url=url))
                with running(folder=Path(folder)) as server:
                    settle(server)
                    return one(server, name, given, poster(encoding))

        seen.append(quietest(measured))
        sys.stdout.write(f"{seen[-1].row()}\n")
        sys.stdout.flush()
    return seen


def main() -> int:
    """All bodies."""
    seen = scan()
    rows = "\n".join(each.row() for each in seen)
    text = f"""The same with bodies in one of the two encodings, on {time.strftime("%Y-%m-%d")}. "MB" is what is sent.
What becomes longer than {LIMIT >> 20} MiB is a 413; what is not valid is a 400.

{HEAD}
{rows}"""
    limits_page.write("encodings", text)
    return 0 if all(each.is_sound for each in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
