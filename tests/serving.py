"""The server under test on a real socket: `with serving(settings) as url: …`."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from app.cli.serve import listen
from app.main import build_app, build_door
from app.settings import Settings
from app.transports.draining import socket_options


@contextmanager
def serving(settings: Settings | None = None) -> Iterator[str]:
    """The address of a server that runs `settings` until the block ends."""
    settings = settings or Settings()
    listener = listen("127.0.0.1", 0, send_timeout=settings.server.send_timeout)
    config = uvicorn.Config(
        build_app(settings),
        http=build_door(settings.server),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        **socket_options(settings.server),
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            message = "the server did not start"
            raise RuntimeError(message)
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        assert not thread.is_alive(), "the server did not stop"
