"""`am-proxy serve`: opens the port, starts the server, and prints how to use it."""

import asyncio
import logging
import sys
from collections.abc import Callable

from ..main import CannotStartError, build_app
from ..settings import Settings
from .given_upstream import settled
from .listening import fewer_connections, listen, listen_advice
from .logs import configure
from .reload import say
from .reloading_server import ReloadingServer

log = logging.getLogger("am_proxy")


def serve(settings: Settings, read: Callable[[], Settings] | None = None) -> int:
    """Serve until a signal stops it. Returns 1, and prints the reason, if it cannot start.

    `read` loads the settings again, at SIGHUP.
    """
    configure(settings.server.log_format, settings.server.log_level)
    host, port = settings.server.host, settings.server.port
    try:
        listener = listen(host, port, send_timeout=settings.server.send_timeout)
    except OSError as error:
        print(f"am-proxy: cannot listen on {host} port {port}: {listen_advice(error)}", file=sys.stderr)
        return 1
    with listener:
        if (workers := settings.server.workers) != 1:
            from ..workers.usable_cores import worker_count  # noqa: PLC0415 — as below
            from .several_processes import supervise  # noqa: PLC0415 — most servers are one process

            if (count := worker_count(workers)) > 1:
                return supervise(settings, read, listener, count)
        try:
            settings, remarks = asyncio.run(settled(settings))
        except KeyboardInterrupt:
            return 0
        say(remarks)
        try:
            application = build_app(settings)
        except CannotStartError as error:
            print(f"am-proxy: {error}", file=sys.stderr)
            return 1
        if possible := fewer_connections(settings.server):
            log.warning(possible)
        ReloadingServer(application, settings, listener, read).run(sockets=[listener])
    if settings.server.log_format != "json" and sys.stderr.isatty():
        print("\rstopped", file=sys.stderr)  # over the ^C that the terminal shows
    return 0
