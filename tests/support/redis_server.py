"""A real Redis (or Valkey) server, started on a free port, for tests with `pytest.mark.needs("redis-server")`."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.deploy.balancers import free_port
from tests.support.programs import REDIS


class RedisServer(NamedTuple):
    """A server that answers."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Its address for `[limits] store`."""
        return f"redis://127.0.0.1:{self.port}"

    def ask(self, *command: str) -> str:
        """The answer to one command, as it is sent, but not longer than a packet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(" ".join(command).encode() + b"\r\n")
            return connection.recv(65_536).decode()

    def freeze(self) -> None:
        """Stops the process where it is, until it gets SIGCONT."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def names(self) -> list[str]:
        """The names of all that it holds."""
        return sorted(line for line in self.ask("KEYS", "*").split("\r\n") if line[:1] not in {"*", "$", ""})


@contextmanager
def redis_server(folder: Path, *options: str, port: int = 0) -> Iterator[RedisServer]:
    """A server with an empty memory, until the block ends."""
    port = port or free_port()
    command = [str(REDIS), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
    with (
        (folder / "redis.log").open("ab") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_for(port, process, folder)
            yield RedisServer(port, process)
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError((folder / "redis.log").read_text())
