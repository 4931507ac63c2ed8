"""Counts for Prometheus, at the end of each turn. They have OpenTelemetry's names where there is one.

Labels come from the configuration. Of the models behind `*`, the first names that answered have rows of their own, and
all others count as `*`: a client may send any name.

Several processes add their counts up in the folder that PROMETHEUS_MULTIPROC_DIR names when this module is imported.
"""

import os
import platform
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from ..settings.tables import Caller
from ..types.problems import Problem
from ..types.redact import without_keys
from ..upstreams.port import Breaker
from ..version import VERSION

if TYPE_CHECKING:
    from ..turns.turn import Turn

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_MOST_NAMES = 50
_OURS = frozenset({"internal_error", "overloaded"})
"""Codes of answers that failed by this server: by a fault, or because it stops."""
_OF_TURN = ("gen_ai_request_model", "gen_ai_provider_name")
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 1800)
_FIRST = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120)

disable_created_metrics()  # type: ignore[no-untyped-call] # they would double the page
_ROUTE = ("model", "upstream")
_tokens = Histogram(
    "gen_ai_client_token_usage",
    "Tokens of a turn, as its upstream counted them, or estimated.",
    [*_OF_TURN, "gen_ai_token_type", "key"],
    buckets=[4**power for power in range(12)],
)
_duration = Histogram(
    "gen_ai_server_request_duration_seconds", "To the last event.", [*_OF_TURN, "error_type"], buckets=_SECONDS
)
_first = Histogram("gen_ai_server_time_to_first_token_seconds", "To the first payload.", _OF_TURN, buckets=_FIRST)
_requests = Counter("am_proxy_requests", "Turns that ended, by how.", [*_ROUTE, "finish"])
_rejected = Counter("am_proxy_rejected", "Requests that were refused before they were streamed.", ["code"])
_errors = Counter("am_proxy_upstream_errors", "Asks refused, and answers broken off.", ["upstream", "code"])
_retries = Counter("am_proxy_retries", "Asks that were sent once more, or elsewhere.", ["upstream"])
_disconnects = Counter("am_proxy_disconnects", "Turns whose client left before the end.", ["model"])
_warnings = Counter("am_proxy_warnings", "Warnings given to callers.", ["model"])
_cached = Counter("am_proxy_cached_tokens", "Input tokens that upstreams read from caches.", _ROUTE)
_cost = Counter("am_proxy_cost_estimate", "Dollars, estimated by tokens and known prices.", [*_ROUTE, "key"])
running = Gauge("am_proxy_turns_in_flight", "Turns that run now.", multiprocess_mode="livesum")
_open = Gauge("am_proxy_circuit_open", "1: it is left alone.", ["upstream"], multiprocess_mode="livemax")
_build = Gauge("am_proxy_build_info", "What runs here.", ["version", "python"], multiprocess_mode="livemax")
_answered: set[str] = set()
"""Names behind `*` that have answered."""


def count_turn(turn: "Turn", caller: Caller, models: Collection[str], took: float, cost: float | None) -> None:
    """Counts a turn that has ended. `models`: the names in the configuration."""
    route, usage, code = turn.route, turn.usage, turn.problem.code if turn.problem else ""
    upstream, settings = route.name, route.model.upstream
    finish = turn.finish
    model = without_keys(_named(turn.request.model, models, answered=finish in {"completed", "incomplete"}))
    about = (model, settings.provider or settings.via)
    _requests.labels(model, upstream, finish).inc()
    _duration.labels(*about, code).observe(took)
    _warnings.labels(model).inc(len(turn.warned))
    _open.labels(upstream).set(route.upstream.breaker.is_open)
    if finish == "refused":
        _rejected.labels(code).inc()
    if finish == "disconnected":
        _disconnects.labels(model).inc()
    if finish == "failed" and turn.exchange is not None and code not in _OURS:
        count_error(upstream, code)
    for name, count in turn.retries.items():
        _retries.labels(name).inc(count)
    if turn.first_at is not None:
        _first.labels(*about).observe(turn.first_at - turn.signals.began)
    if usage is not None:
        _tokens.labels(*about, "input", caller.name).observe(usage.input_tokens)
        _tokens.labels(*about, "output", caller.name).observe(usage.output_tokens)
        _cached.labels(model, upstream).inc(usage.input_tokens_details.cached_tokens)
    if cost is not None:
        _cost.labels(model, upstream, caller.name).inc(cost)


def count_refused(problem: Problem | None) -> None:
    """Counts a request that was refused before its turn, or whose client left."""
    _requests.labels("none", "none", "refused" if problem else "disconnected").inc()
    if problem is not None:
        _rejected.labels(problem.code).inc()


def count_error(upstream: str, code: str) -> None:
    """Counts an ask that this upstream has refused, or an answer that it has broken off."""
    _errors.labels(upstream, code).inc()


def page(breakers: Mapping[str, Breaker]) -> bytes:
    """All counts, as Prometheus reads them; with the state of upstreams."""
    _build.labels(VERSION, platform.python_version()).set(1)
    for upstream, breaker in breakers.items():
        _open.labels(upstream).set(breaker.is_open)
    if (folder := os.environ.get(FOLDER)) is None:
        return generate_latest()
    for file in Path(folder).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:  # it was killed
            mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _named(model: str, models: Collection[str], *, answered: bool) -> str:
    if model not in models and model not in _answered:
        if not answered or len(_answered) >= _MOST_NAMES:
            return "*"
        _answered.add(model)
    return model
