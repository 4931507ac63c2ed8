"""Rows of the metrics that are made when they are read: those that a caller may see, and the states of breakers."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..settings import Key

if TYPE_CHECKING:
    from ..workers.worker_part import WorkerPart
    from .worker_rows import WorkerRows

BUILD: Final = "am_proxy_build"
"""The metric that everyone may see."""


class VisibleRows(Collector):
    """The rows of models that a key may use, and the version. Any other row counts other callers' turns."""

    def __init__(self, rows: Collector, caller: Key) -> None:
        self._rows = rows
        self._caller = caller

    def collect(self) -> Iterable[Metric]:
        """Each metric with the visible rows only."""
        for metric in self._rows.collect():
            visible = Metric(metric.name, metric.documentation, metric.type, metric.unit)
            visible.samples = [sample for sample in metric.samples if self._may_see(metric.name, sample.labels)]
            yield visible

    def _may_see(self, name: str, labels: Mapping[str, str]) -> bool:
        model = labels.get("model") or labels.get("gen_ai_request_model")
        return name == BUILD if model is None else self._caller.may_use(model)


def worker_rows(registry: CollectorRegistry, worker: "WorkerPart", read: list[Collector]) -> "WorkerRows":
    """The rows of all workers. `read` are the collectors that read states of this one."""
    from .worker_rows import WorkerRows  # noqa: PLC0415 — most servers are one process

    return WorkerRows(registry, worker, read)


class CircuitStates(Collector):
    """The state of each upstream's breaker, read when metrics are collected."""

    def __init__(self, circuits: Callable[[], Mapping[str, bool]]) -> None:
        self._circuits = circuits

    def collect(self) -> Iterable[Metric]:
        """One gauge."""
        gauge = GaugeMetricFamily(
            "am_proxy_circuit_open", "1 while an upstream is left alone because it failed.", labels=["upstream"]
        )
        for upstream, is_open in self._circuits().items():
            gauge.add_metric([upstream], float(is_open))
        yield gauge
