"""What clients send to a server, read on the way."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer


class Tap(ThreadingTCPServer):
    """Stands before a server, passes all bytes on, and keeps those of the clients by connection."""

    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind = int(url.rpartition(":")[2])
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.sent: list[bytearray] = []

    @property
    def posted(self) -> list[str]:
        """The encodings of the turns that were posted, in order; empty for a plain one."""
        heads = self._heads(rb"POST /v1/responses ")
        found = [re.search(rb"(?im)^content-encoding: *(\S+)", head) for head in heads]
        return [each[1].decode() if each else "" for each in found]

    @property
    def websockets(self) -> int:
        """How many websockets were asked for."""
        return len(self._heads(rb"GET /v1/responses "))

    def _heads(self, start: bytes) -> list[bytes]:
        return [head for sent in self.sent for head in re.findall(start + rb"HTTP/1.1\r\n.*?\r\n\r\n", sent, re.DOTALL)]


class _Passing(BaseRequestHandler):
    """One connection."""

    server: Tap

    def handle(self) -> None:
        """Both ways, to their ends."""
        sent = bytearray()
        self.server.sent.append(sent)
        with socket.create_connection(("127.0.0.1", self.server.behind)) as there:
            back = threading.Thread(target=_pass, args=(there, self.request, bytearray()), daemon=True)
            back.start()
            _pass(self.request, there, sent)
            back.join()


def _pass(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            kept += data
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def tapped(url: str) -> Iterator[Tap]:
    """A tap before the server at this address."""
    with Tap(url) as tap:
        thread = threading.Thread(target=tap.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield tap
        finally:
            tap.shutdown()
            thread.join()
