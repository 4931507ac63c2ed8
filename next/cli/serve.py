"""Runs the server, and ends it."""

import gc
import signal
import sys

import uvicorn

from ..api.protocol import Protocol
from ..api.websocket import SocketProtocol
from ..app import build_app
from ..observe.log import set_up
from ..settings.load import Settings


def run(settings: Settings) -> None:
    """Serves until a signal."""
    server = settings.server
    set_up(server)
    config = uvicorn.Config(
        build_app(settings),
        host=server.host,
        port=server.port,
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
    )
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)
    if sys.stdout.isatty():
        print(f"AM Proxy is ready: http://{server.host}:{server.port}/v1")
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at its end
        signal.signal(number, lambda *_: sys.exit(0))
    uvicorn.Server(config).run()
