"""A client that says whatever it likes: bytes out, bytes back."""

import json
import socket
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Reply(NamedTuple):
    """What came back until the server closed the connection, or said no more."""

    raw: bytes
    closed: bool

    @property
    def status(self) -> int:
        """The status of the first answer; 0 where there was none."""
        return int(self.raw[9:12]) if self.raw.startswith(b"HTTP/1.1 ") else 0

    @property
    def headers(self) -> dict[str, str]:
        """Those of the first answer."""
        head = self.raw.partition(b"\r\n\r\n")[0].decode("latin-1")
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}

    @property
    def json(self) -> Any:
        """The body of the first answer."""
        body = self.raw.partition(b"\r\n\r\n")[2]
        return json.loads(body[: int(self.headers["content-length"])])

    @property
    def answers(self) -> int:
        """How many there are."""
        return self.raw.count(b"HTTP/1.1 ")


def send_raw(url: str, *pieces: bytes | Iterable[bytes], wait: float = 5) -> Reply:
    """Send these on a connection of their own, and listen until the server hangs up or says nothing for `wait`."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=wait) as connection:
        for piece in pieces:
            for data in [piece] if isinstance(piece, bytes) else piece:
                try:
                    connection.sendall(data)
                except (ConnectionError, TimeoutError):
                    break
        reply = b""
        while True:
            try:
                data = connection.recv(65536)
            except TimeoutError:
                return Reply(reply, closed=False)
            except ConnectionError:
                return Reply(reply, closed=True)
            if not data:
                return Reply(reply, closed=True)
            reply += data
