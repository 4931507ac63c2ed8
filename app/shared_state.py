"""The state that outlives a reload of the settings: counts, quotas, metrics, the last turns, and the seal key."""

import logging
import os
from collections.abc import Mapping
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final, NamedTuple

from .observers.metrics import Metrics, Served
from .observers.recorder import Recorder
from .open_files import most_clients, open_files, wanted
from .settings import Server, Settings
from .transports.connection_limits import ConnectionLimits
from .transports.open_connections import OpenConnections
from .transports.websocket import Quotas
from .turns.limits import Limits
from .turns.quota import Quota
from .turns.upstream_log import UpstreamLog
from .upstreams.breaker import Breaker
from .version import VERSION

if TYPE_CHECKING:
    from .workers.worker_part import WorkerPart

log = logging.getLogger("am_proxy")

WAITING: Final = 4
"""The bytes of requests that may wait for their upstreams, as a multiple of those that may be read at once."""


class SharedState(NamedTuple):
    """The state that a server with new settings takes over from the one before it."""

    limits: Limits
    arriving: Quota
    """Bytes of bodies that are being read."""
    waiting: Quota
    """Bytes of requests whose upstreams have not answered."""
    websockets: Quotas
    connections: OpenConnections
    """Sockets of clients, of any kind."""
    metrics: Metrics | None
    recorder: Recorder | None
    seal_key: str
    upstream_log: UpstreamLog
    """Which upstreams fail."""
    worker: "WorkerPart | None" = None
    """Set if this process is one of several."""

    def follow(self, settings: Settings, breakers: Mapping[str, Breaker]) -> None:
        """Apply the limits of these settings. It cannot fail, so a reload is applied as a whole or not at all."""
        server = settings.server
        owners = len({key.name for key in settings.keys}) + takes_guests(settings)
        self.limits.follow(server.max_turns, shared=bool(settings.keys) and owners > 1)
        self.arriving.follow(*_body_bytes(server))
        self.waiting.follow(*_body_bytes(server, WAITING))
        self.websockets.connections.follow(server.max_websockets, server.max_caller_websockets)
        for quota in (self.websockets.arriving, self.websockets.remembered):
            quota.follow(server.websocket_total_bytes, server.websocket_caller_bytes)
        self.connections.follow(connection_limits(server))
        self.upstream_log.follow(settings.upstreams)
        if self.recorder is not None:
            self.recorder.follow(server.watch_bytes, keyed=bool(settings.keys))
        if self.metrics is not None:
            circuits = partial(_circuits, breakers)
            self.metrics.follow(_served(settings), circuits)


def new_state(settings: Settings, worker: "WorkerPart | None" = None) -> SharedState:
    """The state of a server that starts; or of one of its workers."""
    server = settings.server
    connections = OpenConnections(connection_limits(server), note=_note)
    if worker is not None:
        connections.watch(worker.share.changed)
    return SharedState(
        limits=Limits(server.max_turns),
        arriving=Quota(*_body_bytes(server)),
        waiting=Quota(*_body_bytes(server, WAITING)),
        websockets=Quotas(
            connections=Quota(server.max_websockets, server.max_caller_websockets),
            arriving=Quota(server.websocket_total_bytes, server.websocket_caller_bytes),
            remembered=Quota(server.websocket_total_bytes, server.websocket_caller_bytes),
        ),
        connections=connections,
        metrics=_metrics(settings, connections, worker),
        recorder=_recorder(settings),
        seal_key=os.urandom(32).hex() if worker is None else worker.seal_key,
        upstream_log=UpstreamLog(),
        worker=worker,
    )


def next_state(settings: Settings, before: SharedState) -> SharedState:
    """The state under other settings. Only what is switched on or off is created again; nothing in `before` changes."""
    metrics, recorder = before.metrics, before.recorder
    if metrics is None or settings.server.metrics == "off":
        metrics = _metrics(settings, before.connections, before.worker)
    if recorder is None or recorder.keep != settings.watched:
        recorder = _recorder(settings)
    return before._replace(metrics=metrics, recorder=recorder)


def wanted_connections(server: Server) -> int:
    """The most connections of clients that the settings ask for."""
    return server.max_connections or 2 * (server.max_turns + server.max_websockets)


def connection_limits(server: Server) -> ConnectionLimits:
    """The limits of connections. The limit on open files, which is raised if the system allows it, may lower them."""
    most = wanted_connections(server)
    possible = most_clients(open_files(wanted(most, server.max_turns)), server.max_turns)
    return ConnectionLimits(
        most if possible is None else min(most, possible),
        server.max_address_connections or None,
        [ip_network(network) for network in server.proxies],
    )


def _circuits(breakers: Mapping[str, Breaker]) -> dict[str, bool]:
    return {name: breaker.is_open for name, breaker in breakers.items()}


def _note(fields: dict[str, int]) -> None:
    log.warning("no room for more connections", extra={"fields": fields})


def takes_guests(settings: Settings) -> bool:
    """Whether callers may send a key for an upstream instead of one of this server."""
    return any(upstream.auth == "passthrough" for upstream in settings.upstreams.values())


def provider_names(settings: Settings) -> dict[str, str]:
    """The name of each upstream's provider in metrics and traces."""
    return {name: upstream.provider or upstream.via for name, upstream in settings.upstreams.items()}


def _recorder(settings: Settings) -> Recorder | None:
    keep = settings.watched
    return Recorder(keep, settings.server.watch_bytes, keyed=bool(settings.keys)) if keep else None


def _metrics(settings: Settings, connections: OpenConnections, worker: "WorkerPart | None") -> Metrics | None:
    if settings.server.metrics == "off":
        return None
    return Metrics(_served(settings), VERSION, connections=lambda: connections.counts, worker=worker)


def _served(settings: Settings) -> Served:
    return Served(frozenset(settings.models), provider_names(settings))


def _body_bytes(server: Server, times: int = 1) -> tuple[int, int]:
    """The limits of bytes of bodies, in all and of one caller, multiplied by `times`.

    The longest body fits in each share, also in that of guests.
    """
    in_all = max(server.body_total_bytes, 2 * server.max_body_bytes)
    return times * in_all, times * max(server.body_caller_bytes, server.max_body_bytes)
