"""What tokens cost, as an estimate: by the configured prices, or by those that genai-prices lists of a provider."""

from ..prompt.nouns import Model
from ..types.response import Usage

_NAMES = {"fireworks_ai": "fireworks"}
"""Providers that the list has by another name."""


def cost_of(usage: Usage | None, model: Model) -> float | None:
    """The dollars for so many tokens; None where no price is known."""
    if usage is None:
        return None
    sent, received, cached = model.settings.input_price, model.settings.output_price, model.settings.cached_input_price
    if sent is None or received is None:
        return _listed(usage, model)
    read = min(usage.input_tokens_details.cached_tokens, usage.input_tokens)
    dollars = (usage.input_tokens - read) * sent + read * (sent if cached is None else cached)
    return round((dollars + usage.output_tokens * received) / 1_000_000, 8)


def _listed(usage: Usage, model: Model) -> float | None:
    """The dollars by the list. What is asked without TLS is a server of one's own, whoever made its models."""
    provider = model.upstream.provider
    if provider is None or (model.upstream.base_url or "").startswith("http:"):
        return None
    import genai_prices  # it takes a quarter of a second and 30 MB, once, and only where turns are paid for

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.input_tokens_details.cached_tokens,
        cache_write_tokens=usage.input_tokens_details.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        price = genai_prices.calc_price(tokens, model.upstream_name, provider_id=_NAMES.get(provider, provider))
    except (LookupError, ValueError):  # a model that is not listed; more tokens cached than sent
        return None
    return round(float(price.total_price), 8)
