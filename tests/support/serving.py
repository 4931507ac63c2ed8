"""The server under test on a real socket: `with serving(settings) as url: …`."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from app.cli.listening import listen
from app.main import build_app, build_http_guard
from app.observers.recorder import Recorder
from app.settings import Settings
from app.transports.websocket_options import socket_options


class _Server(uvicorn.Server):
    """uvicorn, which like the real server does not wait for pages that watch turns."""

    def __init__(self, config: uvicorn.Config, recorder: Recorder | None) -> None:
        super().__init__(config)
        self._recorder = recorder

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End watching, then stop."""
        if self._recorder is not None:
            self._recorder.end_watching()
        await super().shutdown(sockets)


@contextmanager
def serving(settings: Settings | None = None) -> Iterator[str]:
    """The address of a server that runs `settings` until the block ends."""
    settings = settings or Settings()
    listener = listen("127.0.0.1", 0, send_timeout=settings.server.send_timeout)
    application = build_app(settings)
    config = uvicorn.Config(
        application.app,
        http=build_http_guard(settings.server, application.shared.connections),
        interface="asgi3",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        **socket_options(settings.server),
    )
    server = _Server(config, application.shared.recorder)
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
