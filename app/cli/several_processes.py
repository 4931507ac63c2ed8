"""`am-proxy serve` with several workers: checks the settings, loads what they share, and starts their supervisor."""

import logging
import os
import socket
import sys
from collections.abc import Callable

from ..settings import Settings
from ..workers.divided_limits import divided, multiplied
from .listening import fewer_connections
from .logs import configure
from .reload import say
from .settings_check import SettingsCheck, UsableSettings, first_check
from .supervisor import Supervisor

log = logging.getLogger("am_proxy")


def supervise(settings: Settings, read: Callable[[], Settings] | None, listener: socket.socket, count: int) -> int:
    """Serve with so many processes until a signal stops them. Returns the exit code."""
    if not hasattr(os, "fork"):
        print("am-proxy: several workers need a system that can fork, such as Linux or macOS", file=sys.stderr)
        return 1
    configure(settings.server.log_format, settings.server.log_level, with_pid=True)
    check = SettingsCheck(lambda: first_check(settings))
    try:
        while not check.read():
            pass
    except KeyboardInterrupt:
        check.cancel()
        return 0
    found = check.result()
    if not isinstance(found, UsableSettings):
        if found:
            print(found, file=sys.stderr)
        return 1
    say(found.remarks)
    for remark in multiplied(found.settings, count):
        log.warning(remark)
    if possible := fewer_connections(divided(found.settings, count).server):
        log.warning(possible)
    _load_litellm(found.settings)
    return Supervisor(found.settings, read, listener, count).run()


def _load_litellm(settings: Settings) -> None:
    """Load litellm before the workers are forked, if it is used, so that they share the memory that it takes."""
    if any(upstream.via == "litellm" for upstream in settings.upstreams.values()):
        from ..upstreams.litellm_chat import warm  # noqa: PLC0415 — it takes seconds

        warm()
