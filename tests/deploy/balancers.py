"""The load balancers of `deploy/`, run as they are written, but for their ports."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from bench.balancers import command

BALANCERS: Final = pytest.mark.parametrize(
    "balancer", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("nginx", "haproxy")]
)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def balancing(
    name: str, replicas: Sequence[int], folder: Path, changes: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """The address of `nginx` or `haproxy` before the replicas at these ports, until the block ends."""
    port = free_port()
    starting = command(name, port, replicas, folder, changes)
    with (folder / "balancer.log").open("w") as log, subprocess.Popen(starting, stdout=log, stderr=log) as process:
        try:
            _wait_for(port, process, folder)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with closing(socket.socket()) as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError((folder / "balancer.log").read_text())
