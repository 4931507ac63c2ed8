import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.observers.metrics import MOST_NAMES, Metrics, Served
from app.parsing.request_body import parse_request
from app.transports.open_connections import ConnectionCounts
from tests.support.metrics import samples
from tests.support.running import ROOT

COMPLETED = {
    "model": "small",
    "upstream": "local",
    "finish": "completed",
    "duration_ms": 1200,
    "first_token_ms": 200,
    "input_tokens": 5,
    "output_tokens": 21,
}
REQUEST = parse_request(b'{"model": "small", "input": "Hi"}')
OF_TURN = 'gen_ai_provider_name="chat",gen_ai_request_model="small"'
"""Shortened to … in the table."""
CASES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "a turn that went well": (
        COMPLETED,
        {
            'am_proxy_requests_total{finish="completed",model="small",upstream="local"}': 1,
            'gen_ai_client_token_usage_sum{…,gen_ai_token_type="input"}': 5,
            'gen_ai_client_token_usage_sum{…,gen_ai_token_type="output"}': 21,
            'gen_ai_server_request_duration_seconds_sum{error_type="",…}': 1.2,
            "gen_ai_server_time_to_first_token_seconds_sum{…}": 0.2,
            "gen_ai_server_time_per_output_token_seconds_sum{…}": 0.05,
        },
    ),
    "any name that is passed on": (
        COMPLETED | {"model": "whatever a client writes"},
        {'am_proxy_requests_total{finish="completed",model="whatever a client writes",upstream="local"}': 1},
    ),
    "one that did not answer": (
        COMPLETED | {"model": "a typing error", "finish": "refused", "error": "model_not_found"},
        {'am_proxy_requests_total{finish="refused",model="*",upstream="local"}': 1},
    ),
    "an unknown name": (
        {"model": "x", "finish": "refused", "error": "model_not_found", "duration_ms": 1},
        {
            'am_proxy_requests_total{finish="refused",model="none",upstream="none"}': 1,
            'am_proxy_rejected_total{code="model_not_found"}': 1,
        },
    ),
    "an upstream that refused": (
        COMPLETED | {"finish": "refused", "error": "upstream_timeout"},
        {
            'am_proxy_rejected_total{code="upstream_timeout"}': 1,
            'am_proxy_upstream_errors_total{code="upstream_timeout",upstream="local"}': 1,
        },
    ),
    "an upstream that wants to be left alone for a while": (
        COMPLETED | {"finish": "refused", "error": "rate_limit_exceeded"},
        {'am_proxy_upstream_errors_total{code="rate_limit_exceeded",upstream="local"}': 1},
    ),
    "an upstream that broke": (
        COMPLETED | {"finish": "failed", "error": "server_error", "cause": "upstream_error"},
        {
            'am_proxy_upstream_errors_total{code="upstream_error",upstream="local"}': 1,
            'gen_ai_server_request_duration_seconds_count{error_type="upstream_error",…}': 1,
        },
    ),
    "an error of a relayed answer, called anything": (
        COMPLETED | {"finish": "failed", "error": "made up"},
        {
            'gen_ai_server_request_duration_seconds_count{error_type="other",…}': 1
        },
    ),
    "a client that left": (
        COMPLETED | {"finish": "disconnected"},
        {'am_proxy_disconnects_total{model="small"}': 1},
    ),
    "warnings, dropped tools and retries": (
        COMPLETED | {"warnings": ["a", "b"], "dropped_tools": 1, "retries": {"local": 1}},
        {
            'am_proxy_warnings_total{model="small"}': 2,
            'am_proxy_dropped_tools_total{model="small"}': 1,
            'am_proxy_retries_total{upstream="local"}': 1,
        },
    ),
}  # fmt: skip


def metrics(**circuits: bool) -> Metrics:
    return Metrics(Served(frozenset({"small", "*"}), {"local": "chat"}), "1.2.3", lambda: circuits, ConnectionCounts)


@pytest.mark.parametrize("name", CASES)
def test_a_turn_is_counted_by_what_the_log_says_of_it(name: str) -> None:
    fields, shortened = CASES[name]
    expected = {sample.replace("…", OF_TURN): value for sample, value in shortened.items()}
    counted = metrics()
    turn = counted.began({})
    if "upstream" in fields:
        turn.asked(REQUEST, {}, [], str(fields["upstream"]))
    turn.ended(fields)
    found = samples(counted.page().decode())
    assert {sample: found.get(sample) for sample in expected} == pytest.approx(expected)


def test_so_many_names_behind_the_wildcard_have_rows_of_their_own() -> None:
    """The first that answered; a name keeps its row, whatever becomes of its later turns."""
    counted = metrics()

    def ended(model: str, finish: str) -> None:
        counted.began({}).ended(COMPLETED | {"model": model, "finish": finish})

    for number in range(2 * MOST_NAMES):
        ended(f"guess-{number}", "refused")
    for number in range(MOST_NAMES + 9):
        ended(f"m{number}", "completed" if number % 2 else "incomplete")
    for model in ("m0", "m55", "small"):
        ended(model, "failed")
    rows = {name.partition("{")[2]: count for name, count in samples(counted.page().decode()).items()}
    failed = {model: rows.get(f'finish="failed",model="{model}",upstream="local"}}') for model in ("m0", "*", "small")}
    assert failed == {"m0": 1, "*": 1, "small": 1}
    assert rows['finish="refused",model="*",upstream="local"}'] == 2 * MOST_NAMES
    models = {re.sub('.*,model="|",.*', "", row) for row in rows if row.startswith("finish=")}
    assert len(models) == MOST_NAMES + len(["*", "small"])


def test_what_is_refused_before_an_upstream_was_asked_is_no_fault_of_it() -> None:
    counted = metrics()
    counted.began({}).ended(COMPLETED | {"finish": "refused", "error": "rate_limit_exceeded"})
    assert [name for name in samples(counted.page().decode()) if "upstream_errors_total" in name] == []


def test_turns_in_flight_go_up_and_down_again() -> None:
    counted = metrics()
    turns = [counted.began({}) for _ in range(3)]
    assert samples(counted.page().decode())["am_proxy_turns_in_flight"] == 3
    for turn in turns:
        turn.ended(COMPLETED)
    assert samples(counted.page().decode())["am_proxy_turns_in_flight"] == 0


def test_circuits_and_the_build_are_reported() -> None:
    found = samples(metrics(a=True, b=False).page().decode())
    assert found['am_proxy_circuit_open{upstream="a"}'] == 1
    assert found['am_proxy_circuit_open{upstream="b"}'] == 0
    assert [name for name in found if name.startswith("am_proxy_build_info") and 'version="1.2.3"' in name] != []


def test_the_page_that_explains_them_names_them_all() -> None:
    names = set(re.findall(r"`((?:gen_ai|am_proxy)_\w+)`", (ROOT / "docs/watching.md").read_text()))
    families = text_string_to_metric_families(metrics(a=True).page().decode())
    ours = {family.name for family in families if not family.name.startswith("process_")}
    ours.add("am_proxy_workers")  # one process has none
    assert {name.removesuffix("_total").removesuffix("_info") for name in names} == {
        name.removesuffix("_info") for name in ours
    }
