"""Runs the server in one process or in several, and ends it."""

import errno
import json
import logging
import multiprocessing
import os
import secrets
import shlex
import signal
import socket
import sys
import tempfile
import threading
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from ..api.protocol import Protocol
from ..api.websocket import SocketProtocol
from ..app import Read, build_app
from ..observe.log import log, set_up
from ..observe.metrics import FOLDER
from ..settings.load import Settings, SettingsError
from ..settings.tables import ServerSettings
from ..settings.values import is_loopback
from ..version import VERSION
from .advice import some, tell
from .upstream_flag import Looked

_ADVICE = {
    errno.EADDRINUSE: "another program uses it; stop that one, or choose another port with --port (0 for any free one)",
    errno.EACCES: "not allowed; choose a port of 1024 or more with --port",
    errno.EADDRNOTAVAIL: "this machine does not have that address; it always has 127.0.0.1",
}


def run(looked: Looked, read: Read) -> int:
    """Serves until a signal; the exit code. `read` reads the settings again: at SIGHUP, and in each worker."""
    settings, server = looked.settings, looked.settings.server
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is somebody who reads the settings again
    set_up(server)
    for remark, is_warning in looked.remarks:
        log.log(logging.WARNING if is_warning else logging.INFO, remark)
    if 0 < len(key := os.environ.get("AM_KEY", "")) < 16 and ":" not in key and not is_loopback(server.host):
        log.warning("AM_KEY is short, and others can reach this address: `am-proxy keys create NAME` makes a key")
    try:
        listener = _listen(server.host, server.port)
    except OSError as error:
        why = "there is no such address" if isinstance(error, socket.gaierror) else _ADVICE.get(error.errno or 0)
        tell(f"am-proxy: cannot listen on {server.host} port {server.port}: {why or error.strerror}")
        return 1
    with listener:
        _announce(looked, listener)
        if server.workers > 1:
            return _supervise(settings, read, listener)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at its end
            signal.signal(number, lambda *_: sys.exit(0))

        def reread() -> Settings:
            told = read()
            config.ws_max_size = told.server.max_body_bytes  # of new websockets
            return told

        config = config_of(build_app(settings, reread), server)
        uvicorn.Server(config).run([listener])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """The socket is open before anything else is made: who calls early waits, and is not refused."""
    places = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return socket.create_server(places[0][4][:2], family=places[0][0], backlog=2048)


def _announce(looked: Looked, listener: socket.socket) -> None:
    """Says that it is ready: to people with a request that works."""
    settings, url = looked.settings, url_of(*listener.getsockname()[:2])
    if not sys.stdout.isatty():
        return log.info("ready", extra={"fields": {"url": url, "workers": settings.server.workers}})
    names = [name for name in settings.models if name != "*"]
    names += [model.name for model in looked.found.models] if looked.found else []
    models = some(names)
    if (others := settings.models.get("*")) is not None:
        upstream = settings.upstreams.get(others.asked[0])
        where = upstream and (upstream.base_url or upstream.provider)
        models += f"{', ' if models else ''}any {'other ' if models else ''}name (sent to {where or others.asked[0]})"
    if settings.keys:
        keys = f"needed: that of {some([key.name for key in settings.keys])}"
    elif is_loopback(settings.server.host):
        keys = "none needed: only this machine can call"
    else:
        keys = "NONE NEEDED: everyone who can reach this address can use it"
    print(f"AM Proxy {VERSION} is ready: {url}\n  models  {models}\n  keys    {keys}")
    if settings.server.kept_turns and settings.server.workers == 1:
        print(f"  watch   {url.removesuffix('v1')}")
    bearer = '-H "Authorization: Bearer $AM_KEY" \\\n    ' if settings.keys else ""
    body = shlex.quote(json.dumps({"model": names[0] if names else "YOUR-MODEL", "input": "Hello!"}))
    header = '-H "Content-Type: application/json"'
    return print(f"\nTry it:\n  curl {url}/responses \\\n    {bearer}{header} \\\n    -d {body}\n", flush=True)


def url_of(host: str, port: int) -> str:
    """The base URL for clients on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 — nothing listens here
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"


def config_of(app: Any, server: ServerSettings, **more: Any) -> uvicorn.Config:
    """How uvicorn serves this application."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws=SocketProtocol,
        ws_max_size=server.max_body_bytes,
        ws_per_message_deflate=False,  # it gains little on events that are sent one by one
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(server.shutdown_grace) + 15,
        **more,
    )


def _supervise(settings: Settings, read: Read, listener: socket.socket) -> int:
    """Several processes. They share the socket, the key of seals, and a folder of metrics."""
    server = settings.server
    if not settings.seal.keys:
        os.environ["AM_SEAL_KEY"] = secrets.token_urlsafe(32)  # any of them may get the next turn
    if server.kept_turns:
        log.info("with several workers there is no inspector: each would show its own turns only")
    if any(key.requests_per_minute or key.concurrency for key in settings.keys):
        log.warning("each worker counts for itself: a key may use up to %d times its limits", server.workers)
    with tempfile.TemporaryDirectory(prefix="am-proxy-metrics-") as folder:
        os.environ[FOLDER] = folder
        config = config_of(partial(_work, read, server), server, factory=True, workers=server.workers)
        config.timeout_worker_healthcheck = 15  # a busy machine needs long for what a worker imports
        logging.getLogger("uvicorn.error").setLevel(logging.INFO)  # it tells of workers that die
        supervisor = Multiprocess(config, [listener])
        supervisor.run()
    return 1 if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in supervisor.processes) else 0


def _work(read: Read, server: ServerSettings) -> ASGIApp:
    """The application of a worker."""
    set_up(server)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor replaces its workers then
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    try:
        settings = read()
    except SettingsError as error:
        for mistake in str(error).splitlines():
            log.error("configuration not loaded: %s", mistake)
        sys.exit(2)
    set_up(settings.server)
    quiet = settings.server.model_copy(update={"watch": 0})
    return build_app(settings.model_copy(update={"server": quiet}))


def _end_with_supervisor() -> None:
    """A supervisor that was killed told nobody, and its workers would keep the port."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)
