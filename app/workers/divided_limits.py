"""The limits of one worker: its part of what the settings allow the whole server."""

from dataclasses import replace
from typing import Final

from ..settings import Settings

_DIVIDED: Final = (
    "body_caller_bytes",
    "body_total_bytes",
    "max_address_connections",
    "max_caller_websockets",
    "max_connections",
    "max_turns",
    "max_websockets",
    "upstream_idle_connections",
    "websocket_caller_bytes",
    "websocket_total_bytes",
)
"""Settings of which each worker has an equal part. For some of them 0 means something else, and stays 0."""
_AT_LEAST_ONE: Final = ("max_turns", "max_websockets", "max_caller_websockets")


def divided(settings: Settings, count: int) -> Settings:
    """The settings of one of `count` workers. Parts are rounded up. Each would see its own turns only: no inspector."""
    server = settings.server
    parts = {name: getattr(server, name) for name in _DIVIDED}
    update = {name: -(-number // count) for name, number in parts.items() if number is not None}
    return replace(settings, server=server.model_copy(update={**update, "ui": server.ui and count == 1}))


def multiplied(settings: Settings, count: int) -> list[str]:
    """What to say about limits that are larger for all workers than the settings say."""
    server = settings.server
    remarks = [
        f"{count} workers: each runs at least one, so there may be {count}, more than server.{name}"
        for name in _AT_LEAST_ONE
        if getattr(server, name) < count
    ]
    least = 2 * server.max_body_bytes * count
    if server.body_total_bytes < least:
        remarks.append(
            f"{count} workers: each reads requests of at least twice server.max_body_bytes, so all of them may hold "
            f"{least} bytes of requests, more than server.body_total_bytes"
        )
    guests = server.guest_requests_per_minute or server.guest_concurrency
    if guests or any(key.requests_per_minute or key.concurrency for key in settings.keys):
        remarks.append(
            f"{count} workers: each counts the requests of a key for itself, so all of them may take {count} times its "
            "requests_per_minute and concurrency"
        )
    if server.watch:
        remarks.append(f"{count} workers: there is no inspector, whatever server.watch says")
    if server.record:
        remarks.append(
            f"{count} workers: each counts what it writes to the folder server.record, so all of them may fill "
            f"{count} times server.record_bytes"
        )
    return remarks
