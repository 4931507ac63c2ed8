"""The metrics of several workers as one: the same page as if one process had done it all."""

from collections.abc import Iterator, Mapping
from typing import Any

import prometheus_client.values
import pytest

from app.observers.metrics import Metrics, Served
from app.observers.worker_rows import share_values
from app.settings import Key
from app.transports.open_connections import ConnectionCounts
from app.workers.connection_share import ConnectionShare
from app.workers.control_channel import pair
from app.workers.value_segment import ValueName, ValueSegment
from app.workers.worker_part import WorkerPart
from app.workers.worker_table import WorkerTable
from tests.support.metrics import samples

SERVED = Served(frozenset({"small", "large"}), {"local": "chat"})
ENDED = {
    "model": "small",
    "upstream": "local",
    "finish": "completed",
    "duration_ms": 700,
    "first_token_ms": 90,
    "input_tokens": 70,
    "output_tokens": 9,
    "cached_tokens": 5,
    "cost_estimate": 0.25,
    "retries": {"local": 2},
}
REFUSED = {"model": "large", "upstream": "local", "finish": "refused", "error": "overloaded", "duration_ms": 3}


@pytest.fixture(autouse=True)
def values_as_they_were() -> Iterator[None]:
    kind = prometheus_client.values.ValueClass
    yield
    prometheus_client.values.ValueClass = kind


class Worker:
    """One of several processes, in this one."""

    def __init__(self, table: WorkerTable, number: int) -> None:
        one, other = pair()
        one.close()
        other.close()
        self.part = WorkerPart(number, table, other, "", ConnectionShare(table, number))
        self.counts = ConnectionCounts()
        self.circuits: dict[str, bool] = {"local": False}
        share_values(self.part.segment)
        self.metrics = Metrics(SERVED, "1", lambda: self.circuits, lambda: self.counts, self.part)

    def page(self, caller: Key | None = None) -> Mapping[str, float]:
        """Its metrics, without those of processes."""
        found = samples(self.metrics.page(caller).decode())
        return {name: value for name, value in found.items() if not name.startswith(("process_", "am_proxy_workers"))}


def done(metrics: Metrics, fields: Mapping[str, Any], times: int = 1) -> None:
    """So many turns that ended like this, and one that runs."""
    for _ in range(times):
        turn = metrics.began({})
        turn.asked(None, None, (), "local")  # type: ignore[arg-type]
        turn.ended(fields)
    metrics.began({})


def alone() -> Mapping[str, float]:
    """The page of one process that did the same."""
    counts = ConnectionCounts(unknown=3, idle=2, busy=1, closed_unknown=7, refused=2)
    metrics = Metrics(SERVED, "1", lambda: {"local": True}, lambda: counts)
    done(metrics, ENDED, 5)
    done(metrics, REFUSED, 2)
    found = samples(metrics.page().decode())
    return {name: value for name, value in found.items() if not name.startswith("process_")}


def test_each_worker_shows_what_all_did() -> None:
    expected = alone()
    table = WorkerTable(2)
    one, two = Worker(table, 0), Worker(table, 1)
    share_values(one.part.segment)
    done(one.metrics, ENDED, 5)
    share_values(two.part.segment)
    done(two.metrics, REFUSED, 2)
    one.counts = ConnectionCounts(unknown=1, idle=2, closed_unknown=4, refused=1)
    two.counts = ConnectionCounts(unknown=2, busy=1, closed_unknown=3, refused=1)
    two.circuits = {"local": True}
    for worker in (one, two, one):
        worker.metrics.write()
    assert len(expected) > 80
    assert one.page() == expected
    assert two.page() == expected


def test_a_key_sees_the_rows_of_its_models_only() -> None:
    table = WorkerTable(2)
    one, two = Worker(table, 0), Worker(table, 1)
    share_values(two.part.segment)
    done(two.metrics, ENDED)
    done(two.metrics, REFUSED)
    page = one.page(Key("a", b"a", models=("small",)))
    assert page['am_proxy_requests_total{finish="completed",model="small",upstream="local"}'] == 1
    assert [name for name in page if "large" in name] == []


def test_what_a_dead_worker_counted_stays_and_what_it_was_doing_does_not() -> None:
    table = WorkerTable(2)
    one, two = Worker(table, 0), Worker(table, 1)
    share_values(two.part.segment)
    done(two.metrics, ENDED, 3)
    two.counts = ConnectionCounts(unknown=2, closed_idle=4)
    two.circuits = {"local": True}
    two.metrics.write()
    before = one.page()
    assert (before["am_proxy_turns_in_flight"], before['am_proxy_circuit_open{upstream="local"}']) == (1, 1)
    table.end(1, seconds=2.5)
    after = one.page()
    counted = {name for name in before if name.endswith(("_total", "_bucket", "_count", "_sum")) or "_bucket{" in name}
    assert {name: after[name] for name in counted} == {name: before[name] for name in counted}
    assert (after["am_proxy_turns_in_flight"], after['am_proxy_circuit_open{upstream="local"}']) == (0, 0)
    assert after['am_proxy_connections{state="unknown"}'] == 0
    assert table.ended_seconds == 2.5

    again = Worker(table, 1)  # its successor goes on counting
    done(again.metrics, ENDED, 2)
    again.counts = ConnectionCounts(closed_idle=1)
    again.metrics.write()
    page = one.page()
    assert page['am_proxy_requests_total{finish="completed",model="small",upstream="local"}'] == 5
    assert page['am_proxy_connections_closed_total{state="idle"}'] == 5
    assert page["am_proxy_turns_in_flight"] == 1


def test_states_that_are_no_more_are_not_shown() -> None:
    worker = Worker(WorkerTable(1), 0)
    assert worker.page()['am_proxy_circuit_open{upstream="local"}'] == 0
    worker.circuits = {"other": True}
    names = [name for name in worker.page() if name.startswith("am_proxy_circuit_open")]
    assert names == ['am_proxy_circuit_open{upstream="other"}']


def test_a_reload_that_switches_metrics_off_and_on_counts_nothing_twice() -> None:
    table = WorkerTable(1)
    worker = Worker(table, 0)
    worker.counts = ConnectionCounts(refused=3)
    assert worker.page()['am_proxy_connections_refused_total{limit="all"}'] == 3
    worker.metrics = Metrics(SERVED, "1", dict, lambda: worker.counts, worker.part)
    assert worker.page()['am_proxy_connections_refused_total{limit="all"}'] == 3


def test_names_that_do_not_fit_are_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    segment = ValueSegment(size=4096)
    names = [ValueName("counter", "f", "f_total", (("model", "m" * 30 + str(number)),)) for number in range(99)]
    places = [segment.place(name) for name in names]
    kept = [name for name, place in zip(names, places, strict=True) if place is not None]
    assert 10 < len(kept) < 99
    assert [name for name, _ in segment.entries()] == kept
    assert len(caplog.messages) == 1
