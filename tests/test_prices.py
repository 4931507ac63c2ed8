"""What turns cost: by the prices of the configuration, or by those that litellm lists."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.prices import ModelPrice, PriceList, configured_price
from app.settings import Model, Settings, Upstream
from app.wiring import PRICES
from tests.support.serving import serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream

ROW = {"litellm_provider": "openai", "input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6}


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        (configured_price(2, 0.5, 8), (1000, 600, 0, 100), 400 * 2e-6 + 600 * 0.5e-6 + 100 * 8e-6),
        (configured_price(2, None, 8), (1000, 600, 0, 100), 1000 * 2e-6 + 100 * 8e-6),
        (ModelPrice(2, 1, 3, 4, "litellm"), (10, 2, 3, 1), 5 * 2 + 2 * 1 + 3 * 3 + 4),
        (ModelPrice(2, 1, 3, 4, "litellm"), (0, 5, 0, 0), 5),
        (configured_price(0, None, 0), (1000, 0, 0, 100), 0),
    ],
)
def test_tokens_cost_what_their_kind_costs(price: ModelPrice, tokens: tuple[int, int, int, int], cost: float) -> None:
    sent, cached, written, received = tokens
    assert price.cost(sent=sent, cached=cached, written=written, received=received) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("listed", "provider", "model", "found"),
    [
        ({"m": ROW}, "openai", "m", (2e-6, 2e-6, 2e-6, 8e-6)),
        ({"openai/m": ROW}, "openai", "m", (2e-6, 2e-6, 2e-6, 8e-6)),
        (
            {"m": ROW | {"cache_read_input_token_cost": 1e-6, "cache_creation_input_token_cost": 3e-6}},
            "openai", "m", (2e-6, 1e-6, 3e-6, 8e-6),
        ),
        ({"m": ROW}, "azure", "m", None),
        ({"m": ROW}, "openai", "n", None),
        ({"m": ROW | {"input_cost_per_token": "free"}}, "openai", "m", None),
        ({"m": ROW | {"input_cost_per_token": -1}}, "openai", "m", None),
        ({"m": ROW | {"input_cost_per_token": 0, "output_cost_per_token": 0}}, "openai", "m", None),
        ({"m": ROW | {"litellm_provider": ["openai"]}}, "openai", "m", None),
        ({"m": "odd"}, "openai", "m", None),
        ("not a list of models", "openai", "m", None),
    ],
)  # fmt: skip
def test_a_listed_price_is_that_of_the_model_at_its_provider(
    tmp_path: Path, listed: Any, provider: str, model: str, found: tuple[float, ...] | None
) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(listed))
    prices = PriceList(file)
    prices.find(provider, model)
    prices.wait()
    price = prices.find(provider, model)
    assert (None if price is None else price[:4]) == found


def test_the_list_of_the_installed_litellm_is_read() -> None:
    prices = PriceList()
    prices.find("openai", "gpt-5")  # it is read from now on
    prices.wait()
    price = prices.find("openai", "gpt-5")
    assert price is not None
    assert 0 < price.cached < price.input < price.output < 0.001
    assert PriceList(Path("nowhere")).find("openai", "gpt-5") is None


@pytest.mark.parametrize(
    ("model", "upstream", "cost"),
    [
        (Model(upstream="up", input_price=2, cached_input_price=1, output_price=10), {}, "settings"),
        (Model(upstream="up", name="gpt-5"), {"provider": "openai"}, "litellm"),
        (Model(upstream="up", name="gpt-5"), {}, None),
    ],
)
def test_a_turn_has_its_cost_in_the_list_the_log_and_the_metrics(
    model: Model, upstream: dict[str, Any], cost: str | None
) -> None:
    PRICES.find("openai", "gpt-5")
    PRICES.wait()
    with ChatUpstream([says("Hi."), stops(), counts(1000, 50, cached=400)]) as server:
        up = Upstream(via="chat", base_url=server.url, **upstream)
        with serving(Settings(upstreams={"up": up}, models={"m": model})) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, timeout=10).raise_for_status()
            turn = httpx.get(f"{url}/inspector/turns/1").json()
            metrics = httpx.get(f"{url}/metrics").text
    shown = turn["row"]["cost"]
    if cost is None:
        assert shown is None
        assert "cost_estimate" not in turn["fields"]
        assert "am_proxy_cost_estimate_total{" not in metrics
        return
    assert (shown["currency"], shown["source"]) == ("USD", cost)
    if cost == "settings":
        assert shown["amount"] == pytest.approx(600 * 2e-6 + 400 * 1e-6 + 50 * 1e-5)
    assert turn["fields"]["cost_estimate"] == shown["amount"] > 0
    (line,) = [line for line in metrics.splitlines() if line.startswith("am_proxy_cost_estimate_total{")]
    assert line.startswith('am_proxy_cost_estimate_total{model="m",upstream="up"} ')
    assert float(line.rpartition(" ")[2]) == pytest.approx(shown["amount"])


@pytest.mark.parametrize("prices", [{"input_price": 1}, {"output_price": 1}, {"cached_input_price": 1}])
def test_a_price_without_the_other_is_a_mistake(prices: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="needs both input_price and output_price"):
        Model(upstream="up", **prices)  # type: ignore[arg-type]
