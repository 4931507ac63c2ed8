"""How many files this process may open, and how many of them may be connections of clients."""

import sys
from typing import Final

RESERVE: Final = 64
"""Files that are not connections: the log, the loop, libraries, name lookups."""
IDLE: Final = 64
"""Idle connections to upstreams, and downloads, for which there is room."""
LEAST: Final = 8
"""Connections that are accepted however low the limit is."""


def most_clients(limit: int | None, turns: int) -> int | None:
    """The connections of clients that a limit on open files permits. Each turn has a connection to its upstream.

    At least half of all are for clients. None if there is no limit.
    """
    if limit is None:
        return None
    room = limit - RESERVE
    return max(room - turns - IDLE, room // 2, LEAST)


def wanted(clients: int, turns: int) -> int:
    """The limit with which so many clients and turns fit."""
    return clients + turns + IDLE + RESERVE


def open_files(wanted_limit: int = 0) -> int | None:
    """The limit of this process, raised to what is wanted as far as the system allows; None if there is none."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 — Windows does not have it

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    goal = wanted_limit if hard == resource.RLIM_INFINITY else min(wanted_limit, hard)
    if goal > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
        except (OSError, ValueError):  # macOS has one more limit
            return soft
        return goal
    return soft
