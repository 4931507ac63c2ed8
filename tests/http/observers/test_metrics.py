"""What the page of metrics counts, and who may read it."""

import time

import httpx
import pytest

from tests.http.observers.counters import counted
from tests.support.metrics import samples
from tests.wire.configuration import Key, Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, Script, Status

CASES: dict[str, tuple[Script, dict[str, object], dict[str, float]]] = {
    "a turn that went well": (
        text_turn("Hi"),
        {},
        {'am_proxy_requests_total{finish="completed",model="small",upstream="local"}': 1},
    ),
    "any name that is passed on": (
        text_turn("Hi"),
        {"model": "whatever a client writes"},
        {'am_proxy_requests_total{finish="completed",model="whatever a client writes",upstream="local"}': 1},
    ),
    "one that did not answer": (
        [Status(404)],
        {"model": "a typing error"},
        {'am_proxy_requests_total{finish="refused",model="*",upstream="local"}': 1},
    ),
    "an upstream that refused": (
        [Status(500)],
        {},
        {
            'am_proxy_rejected_total{code="upstream_error"}': 1,
            'am_proxy_upstream_errors_total{code="upstream_error",upstream="local"}': 1,
        },
    ),
    "an upstream that wants to be left alone for a while": (
        [Status(429)],
        {},
        {'am_proxy_upstream_errors_total{code="rate_limit_exceeded",upstream="local"}': 1},
    ),
    "a warning": (
        text_turn("Hi"),
        {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
        {'am_proxy_warnings_total{model="small"}': 1},
    ),
}


def before(upstream: ChatUpstream) -> str:
    there = Upstream(via="chat", base_url=upstream.url, retries=0)
    return Settings(upstreams={"local": there}, models={name: Model(upstream="local") for name in ("small", "*")})


@pytest.mark.parametrize("name", CASES)
def test_a_turn_is_counted_by_what_became_of_it(name: str) -> None:
    script, body, expected = CASES[name]
    with ChatUpstream(script) as upstream, serving(before(upstream), fresh=True) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"} | body, timeout=20)
        found = counted(url)
    assert {sample: found.get(sample) for sample in expected} == expected


def test_tokens_and_seconds_are_summed_up() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, serving(before(upstream), fresh=True) as url:
        for _ in range(2):
            httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"}, timeout=20)
        found = counted(url)

    def value(start: str, *labels: str) -> float:
        [only] = [
            found[name] for name in found if name.startswith(f"{start}{{") and all(each in name for each in labels)
        ]
        return only

    tokens, model = "gen_ai_client_token_usage_sum", 'gen_ai_request_model="small"'
    assert [value(tokens, model, f'gen_ai_token_type="{kind}"') for kind in ("input", "output")] == [14, 10]
    for seconds in ("gen_ai_server_request_duration_seconds", "gen_ai_server_time_to_first_token_seconds"):
        assert value(f"{seconds}_count", model) == 2
        assert 0 < value(f"{seconds}_sum", model) < 20


def test_a_name_that_nobody_knows_has_no_row_of_its_own() -> None:
    with serving(fresh=True) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "nobody", "input": "Hi"})
        found = counted(url)
    assert found['am_proxy_requests_total{finish="refused",model="none",upstream="none"}'] == 1
    assert found['am_proxy_rejected_total{code="model_not_found"}'] == 1
    assert not any("nobody" in name for name in found)
    assert any(name.startswith("am_proxy_build_info{") for name in found)


ALICE = Key(name="alice", value="secret")


@pytest.mark.parametrize(
    ("text", "key", "status"),
    [
        (Settings(keys=[ALICE]), "", 401),
        (Settings(keys=[ALICE]), "secret", 200),
        (Settings(keys=[ALICE], server=Server(metrics="open")), "", 200),
        (Settings(server=Server(metrics="off")), "", 404),
    ],
)
def test_who_may_read_it_is_a_setting(text: str, key: str, status: int) -> None:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with serving(text) as url:
        assert httpx.get(f"{url}/metrics", headers=headers).status_code == status


def test_a_key_for_some_models_sees_the_rows_of_these() -> None:
    limited = Key(name="mallory", value="limited", models=["pub*"])
    models = {name: Model(upstream="demo") for name in ("public", "secret-project", "*")}
    settings = Settings(keys=[ALICE, limited], models=models, upstreams={"demo": Upstream(via="demo")})
    names = ("public", "secret-project", "any-other")
    rows = [f'am_proxy_requests_total{{finish="completed",model="{name}",upstream="demo"}}' for name in names]

    with serving(settings, fresh=True) as url:

        def page(key: str) -> dict[str, float]:
            return samples(httpx.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"}).text)

        for name in names:
            body = {"model": name, "input": "Hi"}
            httpx.post(f"{url}/v1/responses", json=body, headers={"authorization": "Bearer secret"})
        while not page("secret").keys() >= {*rows}:
            time.sleep(0.01)
        whole, part = page("secret"), page("limited")
    assert {name for name in part if name.startswith("am_proxy_requests_total")} == {rows[0]}
    assert not any("secret-project" in name for name in part)
    assert {name for name in part if "model=" not in name} == {
        name for name in whole if name.startswith("am_proxy_build_info")
    }
