"""What tokens cost, as an estimate: by the configured prices, or by those that genai-prices lists of a provider."""

import threading
from collections.abc import Callable, Iterable

from ..prompt.nouns import Model
from ..settings.tables import UpstreamSettings
from ..types.response import Usage

_NAMES = {"fireworks_ai": "fireworks"}
"""Providers that the list has by another name."""
_listed: list[Callable[[Usage, str, str], float]] = []
"""The dollars by the list, of a model at a provider; nothing until the list is read."""
_once = threading.Lock()


def read_list(upstreams: Iterable[UpstreamSettings]) -> None:
    """Reads the list where it may be needed, soon and in a thread: it takes a quarter of a second, and 30 MB."""
    if any(_is_listed(upstream) for upstream in upstreams) and _once.acquire(blocking=False):
        timer = threading.Timer(1, _read)  # the server starts first
        timer.daemon = True
        timer.start()


def cost_of(usage: Usage | None, model: Model) -> float | None:
    """The dollars for so many tokens; None where no price is known."""
    sent, received, cached = model.settings.input_price, model.settings.output_price, model.settings.cached_input_price
    if usage is None:
        return None
    if sent is None or received is None:
        try:
            if _listed and _is_listed(model.upstream):
                provider = str(model.upstream.provider)
                return round(_listed[0](usage, model.upstream_name, _NAMES.get(provider, provider)), 8)
        except (LookupError, ValueError):  # a model that is not listed; more tokens cached than sent
            pass
        return None
    read = usage.input_tokens_details.cached_tokens
    dollars = (usage.input_tokens - read) * sent + read * (sent if cached is None else cached)
    return round((dollars + usage.output_tokens * received) / 1_000_000, 8)


def _is_listed(upstream: UpstreamSettings) -> bool:
    """Whether it may have prices. What is asked without TLS is a server of one's own, whoever made its models."""
    return upstream.provider is not None and not (upstream.base_url or "").startswith("http:")


def _read() -> None:
    import genai_prices

    def dollars(usage: Usage, model: str, provider: str) -> float:
        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.input_tokens_details.cached_tokens,
            cache_write_tokens=usage.input_tokens_details.cache_write_tokens,
            output_tokens=usage.output_tokens,
        )
        return float(genai_prices.calc_price(tokens, model, provider_id=provider).total_price)

    dollars(Usage(0, 0, 0), "gpt-4o", "openai")  # reads all
    _listed.append(dollars)
