"""Every query of the dashboard asks for what the server really exposes, with labels that it really has."""

import json
import re
from collections import defaultdict

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.observers.metrics import Metrics, Served
from app.parsing.request_body import parse_request
from app.transports.open_connections import ConnectionCounts
from tests.support.running import ROOT

DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())
ROWS = [panel for panel in DASHBOARD["panels"] if panel["type"] == "row"]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [query for panel in PANELS for target in panel["targets"] for query in target["expr"].split(" / ")]
QUERIES += [variable["definition"] for variable in DASHBOARD["templating"]["list"] if "definition" in variable]
REQUEST = parse_request(b'{"model": "m", "input": "Hi"}')
FROM_OUTSIDE = {"instance", "le", "job"}
"""Labels that Prometheus itself adds, or that every histogram has."""
WORDS = {
    "sum", "by", "rate", "max", "count", "histogram_quantile", "label_values", "le", "instance", "model",
    "state", "limit",
}  # fmt: skip
HERE = 'job=~"$job", instance=~"$instance"'
OURS_ALONE = "am_proxy_build_info"
"""What no other program exposes."""
FOR_CHOICES = {f"label_values({OURS_ALONE}, job)", f'label_values({OURS_ALONE}{{job=~"$job"}}, instance)'}


def exposed() -> dict[str, set[str]]:
    """The label names of every sample of a server on which everything has happened once."""
    metrics = Metrics(Served(frozenset({"m"}), {"u": "p"}), "1", lambda: {"u": True}, ConnectionCounts)
    fields = {
        "model": "m", "upstream": "u", "duration_ms": 9, "first_token_ms": 1, "input_tokens": 2, "output_tokens": 3,
        "cached_tokens": 1, "cost_estimate": 0.1, "compaction": "threshold",
        "warnings": ["w"], "dropped_tools": 1, "retries": {"u": 1}, "error": "upstream_error",
    }  # fmt: skip
    for finish in ("completed", "refused", "failed", "disconnected"):
        turn = metrics.began({})
        turn.asked(REQUEST, {}, [], "there")
        turn.ended({**fields, "finish": finish})
    metrics.searched("search", "found")
    found: dict[str, set[str]] = defaultdict(set)
    for family in text_string_to_metric_families(metrics.page().decode()):
        for sample in family.samples:
            found[sample.name] |= set(sample.labels)
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_asks_for_what_is_there(query: str) -> None:
    known = exposed()
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", query)
    names = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", bare))
    metrics = names & set(known)
    (metric,) = metrics - {OURS_ALONE} or metrics
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", bare) for label in group.split(",")}
    filtered = set(re.findall(r"([a-z_]+)=~?", bare))
    assert (grouped | filtered) - FROM_OUTSIDE <= known[metric]
    assert names - metrics - WORDS - grouped - filtered == set()


@pytest.mark.parametrize("query", sorted(set(QUERIES) - FOR_CHOICES))
def test_every_query_is_about_the_chosen_jobs_and_instances(query: str) -> None:
    """What every program exposes is taken from those that are AM Proxy: others may have the same job."""
    alone = query.removesuffix(f" and on (job, instance) {OURS_ALONE}")
    assert alone.count("{") == alone.count(f"{{{HERE}") == 1
    assert (alone == query) == ("process_" not in query)


def test_jobs_and_instances_are_chosen_among_those_of_am_proxy() -> None:
    choices = {entry["name"]: entry for entry in DASHBOARD["templating"]["list"]}
    assert {choices["job"]["definition"], choices["instance"]["definition"]} == FOR_CHOICES
    assert all(choices[name]["query"]["query"] == choices[name]["definition"] for name in ("job", "instance", "model"))
    assert not any("allValue" in choices[name] for name in ("job", "instance")), "it would match other programs"


def test_every_metric_of_ours_has_a_panel() -> None:
    shown = " ".join(QUERIES)
    base = {
        re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed() if not name.startswith(("process_", "python_"))
    }
    assert [name for name in sorted(base) if name not in shown] == []


def test_every_panel_is_below_the_heading_of_its_row_and_covers_no_other() -> None:
    assert [row["title"] for row in ROWS] == [
        "Turns", "Upstreams", "Time to first token, and speed", "Tokens, cache and cost", "Circuit breakers and limits",
        "Compaction, searches and clients", "Processes",
    ]  # fmt: skip
    covered: set[tuple[int, int]] = set()
    line = 0
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["y"] >= line, "Grafana puts a panel below the last heading before it"
        assert at["x"] + at["w"] <= 24
        line = at["y"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & covered
        covered |= cells
    assert DASHBOARD["panels"][0] == ROWS[0]
    assert {panel["id"] for panel in DASHBOARD["panels"]} >= set(range(1, 27))
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_share_of_caches_is_shown() -> None:
    shown = {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in PANELS}
    [share] = shown["Share of input tokens read from caches"]
    assert share.count(" / ") == 1
