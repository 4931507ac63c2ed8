"""Clients that hold many connections: some show a key, some send half a head or nothing."""

import contextlib
import json
import socket
import time
from typing import Self
from urllib.parse import urlsplit

HALF: bytes = b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n"


def request(key: str | None = None, *, path: str = "/v1/responses", text: str = "Hi", stream: bool = False) -> bytes:
    """A whole request for a turn of the demo model; a GET for another path."""
    shown = b"Authorization: Bearer %s\r\n" % key.encode() if key else b""
    if path != "/v1/responses":
        return b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path.encode(), shown)
    body = json.dumps({"model": "demo", "input": text, "stream": stream, "store": False}).encode()
    head = b"%sContent-Type: application/json\r\nContent-Length: %d\r\n" % (HALF, len(body))
    return head + shown + b"\r\n" + body


class RawClient:
    """One connection, from any address of this machine."""

    def __init__(self, url: str, source: str = "127.0.0.1") -> None:
        where = urlsplit(url)
        self.socket = socket.create_connection(
            (where.hostname or "", where.port or 80), timeout=10, source_address=(source, 0)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Self:
        """Send these bytes; a connection that is closed is no error."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)
        return self

    def status(self) -> int:
        """The status of the next answer, whose body is read to its end; 0 if the connection was closed."""
        head = self.until(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 "):
            return 0
        if b"transfer-encoding: chunked" in head:
            self.until(b"\r\n0\r\n\r\n")
        length = next((line for line in head.split(b"\r\n") if line.startswith(b"content-length: ")), b": 0")
        left = int(length.partition(b": ")[2])
        while left:
            left -= len(self.socket.recv(left))
        return int(head[9:12])

    def until(self, end: bytes) -> bytes:
        """What arrives up to these bytes, or until the connection is closed."""
        seen = b""
        while not seen.endswith(end):
            try:
                data = self.socket.recv(1)
            except ConnectionError:
                break
            if not data:
                break
            seen += data
        return seen

    def ask(self, key: str | None = None) -> int:
        """The status of one request."""
        return self.send(request(key)).status()

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed it. What it sent is discarded."""
        self.socket.settimeout(0)
        try:
            while self.socket.recv(65536):
                pass
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        else:
            return True
        finally:
            self.socket.settimeout(10)

    def closed_soon(self) -> bool:
        """Whether the server closes it within two seconds."""
        until = time.monotonic() + 2
        while not self.is_closed:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True
