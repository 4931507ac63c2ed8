"""The load balancers of `deploy/`, run as they are written but for their ports."""

import getpass
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = {"nginx": "deploy/nginx/am-proxy.conf", "haproxy": "deploy/haproxy/haproxy.cfg"}
NGINX: Final = """
user {user};
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
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
"""What a distribution's nginx has around a file in conf.d. Its user must be able to write into the folder."""


def command(
    name: str,
    port: int,
    replicas: Sequence[int],
    folder: Path,
    changes: Sequence[tuple[str, str]] = (),
    tls: tuple[int, Path] | None = None,
) -> list[str]:
    """How to start `nginx` or `haproxy` before the replicas at these ports.

    The changes are made in its configuration: each text must be there. `tls`: a port, and a certificate with its key.
    """
    ports = dict(zip(("8080", "8081", "8082", "8083"), map(str, (port, *replicas)), strict=True))
    written = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: ports[found[0]], (ROOT / SOURCES[name]).read_text())
    for there, instead in changes:
        assert there in written, there
        written = written.replace(there, instead)
    if tls is None:
        written = re.sub(r"^.*(443 ssl|ssl_).*\n", "", written, flags=re.MULTILINE)
    else:
        written = re.sub(r"/etc/\S+\.pem", str(tls[1]), written.replace("443 ssl", f"{tls[0]} ssl"))
    config = folder / f"{name}.conf"
    program = shutil.which(name) or name
    if name == "nginx":
        config.write_text(NGINX.format(folder=folder, ours=written, user=getpass.getuser()))
        return [program, "-c", str(config), "-p", str(folder), "-g", "daemon off;"]
    config.write_text(written)
    return [program, "-db", "-f", str(config)]
