"""What `am-proxy launch` believes of the program that it finds on a port."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from app.cli import launched_server
from app.cli.launched_models import MissingError

Reply = Callable[[socket.socket], None]
HEAD = b"HTTP/1.1 200 OK\r\nx-request-id: req_AM-1\r\n"


@contextmanager
def program(reply: Reply) -> Iterator[int]:
    """A program that answers every request so on a port of this machine."""

    def run() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(ConnectionError):
                    connection.recv(65_536)
                    reply(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)  # it accepts no more
    thread.join(5)


def endless(head: bytes, piece: bytes) -> Reply:
    def reply(connection: socket.socket) -> None:
        connection.sendall(head)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            connection.sendall(piece)
            time.sleep(0.02)

    return reply


@pytest.mark.parametrize("reply", [endless(HEAD, b"X: y\r\n"), endless(HEAD + b"\r\n", b" ")], ids=["head", "body"])
def test_a_program_that_never_ends_its_answer_is_not_waited_for(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched_server, "_ANSWER_WITHIN", 0.2)
    began = time.monotonic()
    with program(reply) as port:
        with pytest.raises(MissingError, match="used by another program"):
            launched_server.running_server("127.0.0.1", port)
        assert time.monotonic() - began < 2


def test_only_names_that_a_terminal_can_show_are_read() -> None:
    names = ["good:8b", "\x1b[2Jred", "two\nlines", "x" * 257, "", " edge"]
    body = json.dumps({"models": [{"slug": name} for name in names]}).encode()
    with program(lambda connection: connection.sendall(HEAD + b"Connection: close\r\n\r\n" + body)) as port:
        found = launched_server.running_server("127.0.0.1", port)
    assert found is not None
    assert found.models == [{"slug": "good:8b"}]
