"""The state of the store of limits for Prometheus; no values where there is none."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from ..limit_store.limit_store import LimitStore


class StoreCollector(Collector):
    """Whether the store can be used, and how often it could not."""

    def __init__(self) -> None:
        self.store: LimitStore | None = None

    def collect(self) -> Iterable[Metric]:
        """Read when metrics are collected."""
        reachable = GaugeMetricFamily(
            "am_proxy_limit_store_reachable",
            "1 while the store decides about limits, 0 while this process applies its own.",
        )
        outages = CounterMetricFamily(
            "am_proxy_limit_store_outages", "Times that the store of limits could not be used."
        )
        alone = CounterMetricFamily(
            "am_proxy_limited_alone", "Turns for which this process applied its own limits instead of the store's."
        )
        if self.store is not None:
            reachable.add_metric([], float(self.store.reachable))
            outages.add_metric([], self.store.outages.number)
            alone.add_metric([], self.store.outages.decided_alone)
        return reachable, outages, alone
