"""What turns cost, and who used how much."""

from pathlib import Path

import httpx
import pytest

from app.catalog import Catalog
from app.observe.prices import cost_of
from app.settings.load import load
from app.settings.tables import Caller
from app.types.response import InputTokensDetails, Usage
from tests.deploy.program import soon, started
from tests.support.metrics import samples

USED = Usage(1_000_000, 100_000, 1_100_000, InputTokensDetails(cached_tokens=600_000))
KEYS = """
[[keys]]
name = "alice"
value = "sk-alice"
[[keys]]
name = "bob"
value = "sk-bob"
models = ["small"]
[upstreams.there]
via = "demo"
[models.small]
upstream = "there"
input_price = 2.0
output_price = 8.0
"""


@pytest.mark.parametrize(
    ("upstream", "model", "cost"),
    [
        ('provider = "openai"', 'name = "gpt-4o"', 0.4 * 2.5 + 0.6 * 1.25 + 0.1 * 10),
        ('provider = "openai"', 'name = "gpt-4o"\ninput_price = 1.0\noutput_price = 2.0', 1 + 0.2),
        ('provider = "openai"', 'name = "gpt-4o"\ninput_price = 1\ncached_input_price = 0.5\noutput_price = 2', 0.9),
        ('provider = "openai"', 'name = "nobody-has-it"', None),
        ('provider = "ollama"', 'name = "llama3"', None),
        ('provider = "openai"\nbase_url = "http://127.0.0.1:1/v1"', 'name = "gpt-4o"', None),
        ('base_url = "https://models.example.com/v1"', 'name = "gpt-4o"', None),
        ('via = "demo"', "input_price = 0\noutput_price = 0", 0),
    ],
)
def test_a_turn_costs_what_settings_say_or_its_provider_asks(
    tmp_path: Path, upstream: str, model: str, cost: float | None
) -> None:
    file = tmp_path / "am-proxy.toml"
    file.write_text(f'[upstreams.there]\n{upstream}\n[models.m]\nupstream = "there"\n{model}\n')
    [route] = Catalog(load(file, {}, {"OPENAI_API_KEY": "sk"})).routes("m", Caller())
    assert cost_of(USED, route.model) == (None if cost is None else pytest.approx(cost))
    assert cost_of(None, route.model) is None


def test_more_cached_than_sent_costs_what_was_sent_or_nothing_that_can_be_said(tmp_path: Path) -> None:
    file = tmp_path / "am-proxy.toml"
    file.write_text('[upstreams.o]\nprovider = "openai"\n[models.gpt-4o]\nupstream = "o"\n')
    [route] = Catalog(load(file, {}, {"OPENAI_API_KEY": "sk"})).routes("gpt-4o", Caller())
    cached = Usage(5, 1, 6, InputTokensDetails(cached_tokens=10))
    assert cost_of(cached, route.model) is None
    prices = route.model.settings.model_copy(update={"input_price": 2, "output_price": 8})
    assert cost_of(cached, route.model._replace(settings=prices)) == pytest.approx(18e-6)


def test_tokens_and_cost_are_counted_by_key(tmp_path: Path) -> None:
    with started(tmp_path, KEYS) as server:

        def used(key: str) -> dict[str, int]:
            body, headers = {"model": "small", "input": "Hi"}, {"authorization": f"Bearer {key}"}
            usage: dict[str, int] = httpx.post(
                f"{server.url}/responses", json=body, headers=headers, timeout=50
            ).json()["usage"]
            return usage

        def page(headers: dict[str, str]) -> httpx.Response:
            return httpx.get(f"http://127.0.0.1:{server.port}/metrics", headers=headers, timeout=50)

        usage = [used(key) for key in ("sk-alice", "sk-bob", "sk-bob")]
        assert soon(lambda: len(server.lines("turn")) == 3)
        found = samples(page({"authorization": "Bearer sk-alice"}).text)
        assert page({}).status_code == 401
        assert page({"authorization": "Bearer sk-bob"}).status_code == 401, "it may not use all models"
    labels = 'gen_ai_provider_name="demo",gen_ai_request_model="small",gen_ai_token_type'
    for key, each_used in (("alice", usage[:1]), ("bob", usage[1:])):
        sent, received = (sum(each[f"{kind}_tokens"] for each in each_used) for kind in ("input", "output"))
        assert found[f'gen_ai_client_token_usage_sum{{{labels}="input",key="{key}"}}'] == sent
        assert found[f'gen_ai_client_token_usage_sum{{{labels}="output",key="{key}"}}'] == received
        cost = found[f'am_proxy_cost_estimate_total{{key="{key}",model="small",upstream="there"}}']
        assert cost == pytest.approx((sent * 2 + received * 8) / 1e6)
    assert found["am_proxy_turns_in_flight"] == 0
