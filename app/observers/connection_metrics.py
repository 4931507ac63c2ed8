"""Figures about the connections of clients, for Prometheus."""

from collections.abc import Callable, Iterable
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class ConnectionFigures(Protocol):
    """What is counted: see `transports/open_connections.py`."""

    @property
    def unknown(self) -> int:
        """Open connections whose clients have shown no key."""

    @property
    def idle(self) -> int:
        """Open connections of other clients, between two requests."""

    @property
    def busy(self) -> int:
        """All others that are open."""

    @property
    def closed_unknown(self) -> int:
        """Those that were closed to make room."""

    @property
    def closed_idle(self) -> int:
        """Likewise."""

    @property
    def refused(self) -> int:
        """Connections for which there was no room."""

    @property
    def refused_of_address(self) -> int:
        """The same, because of the limit for one address."""


class ConnectionCollector(Collector):
    """The figures, read when metrics are collected."""

    def __init__(self, read: Callable[[], ConnectionFigures]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """One gauge and two counters."""
        figures = self._read()
        yield _rows(
            GaugeMetricFamily(
                "am_proxy_connections", "Open connections of clients; unknown: without a key so far.", labels=["state"]
            ),
            unknown=figures.unknown,
            idle=figures.idle,
            busy=figures.busy,
        )
        yield _rows(
            CounterMetricFamily(
                "am_proxy_connections_closed", "Connections closed to make room for others.", labels=["state"]
            ),
            unknown=figures.closed_unknown,
            idle=figures.closed_idle,
        )
        yield _rows(
            CounterMetricFamily(
                "am_proxy_connections_refused", "Connections for which there was no room.", labels=["limit"]
            ),
            all=figures.refused,
            address=figures.refused_of_address,
        )


def _rows(metric: GaugeMetricFamily | CounterMetricFamily, **figures: int) -> Metric:
    for label, figure in figures.items():
        metric.add_metric([label], figure)
    return metric
