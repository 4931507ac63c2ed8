"""The metrics of all workers as one. Each keeps its numbers in shared memory, so any of them can answer for all.

Nothing is asked of the other workers, so one that hangs does not delay the answer: what it counted is there. Only its
states, such as open connections, are those of its last sign of life. `am_proxy_workers` says how many are silent.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import nan
from threading import Lock
from typing import Any, Final

import prometheus_client.values
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from ..workers.connection_share import SILENT
from ..workers.value_segment import Mode, ValueName, ValueSegment
from ..workers.worker_part import WorkerPart
from ..workers.worker_table import WorkerTable

_MODES: Final[Mapping[str, Mode]] = {"gauge": "sum", "counter": "counter", "histogram": "counter"}
_STATES: Final[Mapping[str, Mode]] = {"am_proxy_circuit_open": "max"}
"""Gauges that are not summed: open in one worker."""
_SUMMED: Final = {"process_cpu_seconds", "process_resident_memory_bytes", "process_virtual_memory_bytes"} | {
    "process_open_fds"
}
_Labels = tuple[tuple[str, str], ...]


def share_values(segment: ValueSegment) -> None:
    """From now on, values of metrics are kept in this segment. For a process that is a worker."""

    class SharedValue:
        """A number of a metric, as prometheus_client wants it."""

        _multiprocess = False

        def __init__(
            self,
            typ: str,
            metric_name: str,
            name: str,
            labelnames: Iterable[str],
            labelvalues: Iterable[str],
            help_text: str,  # noqa: ARG002 — as above
            **_more: Any,
        ) -> None:
            self._lock = Lock()
            mode = _MODES[typ]
            self._place = segment.place(
                ValueName(mode, metric_name, name, tuple(zip(labelnames, labelvalues, strict=True)))
            )
            if mode != "counter":
                self.set(0)

        def inc(self, amount: float) -> None:
            if self._place is not None:
                with self._lock:
                    segment.set(self._place, segment.get(self._place) + amount)

        def set(self, value: float, timestamp: float | None = None) -> None:  # noqa: ARG002 — as above
            if self._place is not None:
                segment.set(self._place, value)

        def get(self) -> float:
            return 0 if self._place is None else segment.get(self._place)

        def set_exemplar(self, exemplar: object) -> None:
            """There are none."""

        def get_exemplar(self) -> None:
            """There are none."""

    prometheus_client.values.ValueClass = SharedValue


class WorkerRows(Collector):
    """The rows of all workers together."""

    def __init__(self, registry: CollectorRegistry, worker: WorkerPart, read: Iterable[Collector]) -> None:
        """`read` are collectors of states, which are written for the other workers by `write`."""
        self._registry = registry
        self._worker = worker
        self._read = list(read)
        self._written: dict[ValueName, int] = {}

    def write(self) -> None:
        """Writes the states of this worker."""
        segment, before, self._written = self._worker.segment, self._written, {}
        for metric in (metric for collector in self._read for metric in collector.collect()):
            mode = "counter" if metric.type == "counter" else _STATES.get(metric.name, "sum")
            for sample in metric.samples:
                name = ValueName(mode, metric.name, sample.name, tuple(sample.labels.items()))
                place = before.get(name) or segment.place(name)
                if place is not None:
                    segment.set(place, self._base(name, place) + sample.value)
                    self._written[name] = place
        for name in before.keys() - self._written.keys():
            if name.mode != "counter":
                segment.set(before[name], nan)

    def _base(self, name: ValueName, place: int) -> float:
        """What former workers with this number have counted."""
        if name.mode != "counter":
            return 0
        return self._worker.bases.setdefault(name, self._worker.segment.get(place))

    def collect(self) -> Iterable[Metric]:
        """Each metric of this worker, with the values of all."""
        rows = _merged(self._worker.table)
        for metric in self._registry.collect():
            if metric.name in rows:
                whole = Metric(metric.name, metric.documentation, metric.type, metric.unit)
                samples = rows[metric.name]
                whole.samples = _added_up(metric.name, samples) if metric.type == "histogram" else _listed(samples)
                yield whole
            else:
                yield metric
        yield from _processes(self._worker.table)
        yield _states(self._worker.table)


def _merged(table: WorkerTable) -> dict[str, dict[tuple[str, _Labels], float]]:
    """By the name of the metric, then by sample and labels."""
    found: defaultdict[str, dict[tuple[str, _Labels], float]] = defaultdict(dict)
    for segment in table.segments:
        for name, value in segment.entries():
            rows, key = found[name.family], (name.sample, name.labels)
            if key not in rows:
                rows[key] = value
            elif name.mode == "max":
                rows[key] = max(rows[key], value)
            else:
                rows[key] += value
    return found


def _listed(rows: Mapping[tuple[str, _Labels], float]) -> list[Sample]:
    return [Sample(name, dict(labels), value) for (name, labels), value in rows.items()]


def _added_up(family: str, rows: Mapping[tuple[str, _Labels], float]) -> list[Sample]:
    """A histogram: each bucket is kept alone, and shown with all below it."""
    buckets: defaultdict[_Labels, list[tuple[float, str, float]]] = defaultdict(list)
    for (name, labels), value in rows.items():
        if name.endswith("_bucket"):
            (*others, (_, bound)) = labels
            buckets[tuple(others)].append((float(bound), bound, value))
    samples = []
    for labels, counts in buckets.items():
        number = 0.0
        for _, bound, value in sorted(counts):
            number += value
            samples.append(Sample(f"{family}_bucket", {**dict(labels), "le": bound}, number))
        samples.append(Sample(f"{family}_count", dict(labels), number))
        samples.append(Sample(f"{family}_sum", dict(labels), rows[f"{family}_sum", labels]))
    return samples


def _processes(table: WorkerTable) -> Iterable[Metric]:
    """Time and memory of all processes, the supervisor included."""
    found: dict[str, Metric] = {}
    for pid in table.pids():
        for metric in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
            whole = found.setdefault(metric.name, metric)
            if whole is metric:
                continue
            (sample,), (more,) = whole.samples, metric.samples
            value = sample.value + more.value if metric.name in _SUMMED else min(sample.value, more.value)
            whole.samples = [sample._replace(value=value)]
    if (cpu := found.get("process_cpu_seconds")) is not None:
        cpu.samples = [cpu.samples[0]._replace(value=cpu.samples[0].value + table.ended_seconds)]
    return found.values()


def _states(table: WorkerTable) -> Metric:
    now = time.monotonic()
    gauge = GaugeMetricFamily(
        "am_proxy_workers",
        "Processes that serve, by state; silent: its event loop has not run for a second; starting: or ending.",
        labels=["state"],
    )
    ages = [now - row.seen if row.seen else None for row in table]
    gauge.add_metric(["serving"], sum(age is not None and age <= SILENT for age in ages))
    gauge.add_metric(["silent"], sum(age is not None and age > SILENT for age in ages))
    gauge.add_metric(["starting"], sum(age is None for age in ages))
    return gauge
