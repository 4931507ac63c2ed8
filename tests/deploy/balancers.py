"""The load balancers of `deploy/`, run as they are written, but for their ports."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.running import ROOT

NGINX = """
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {ours}
}}
"""
"""What a distribution's nginx has around a file in conf.d."""


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def balancing(name: str, replicas: Sequence[int], folder: Path) -> Iterator[str]:
    """The address of `nginx` or `haproxy` before the replicas at these ports, until the block ends."""
    port = free_port()
    ports = dict(zip(("8080", "8081", "8082", "8083"), map(str, (port, *replicas)), strict=True))
    source = {"nginx": "deploy/nginx/am-proxy.conf", "haproxy": "deploy/haproxy/haproxy.cfg"}[name]
    written = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: ports[found[0]], (ROOT / source).read_text())
    command = [shutil.which(name) or name]
    config = folder / "balancer.conf"
    if name == "nginx":
        config.write_text(NGINX.format(folder=folder, ours=written))
        command += ["-c", str(config), "-p", str(folder), "-g", "daemon off;"]
    else:
        config.write_text(written)
        command += ["-db", "-f", str(config)]
    with (folder / "balancer.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
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
