"""What a turn costs, as an estimate."""

from ..settings.tables import ModelSettings
from ..types.response import Usage


def cost_of(usage: Usage | None, settings: ModelSettings) -> float | None:
    """The dollars for so many tokens by the configured prices of a million; None without prices."""
    sent, received, cached = settings.input_price, settings.output_price, settings.cached_input_price
    if usage is None or sent is None or received is None:
        return None
    read = usage.input_tokens_details.cached_tokens
    dollars = (usage.input_tokens - read) * sent + read * (sent if cached is None else cached)
    return round((dollars + usage.output_tokens * received) / 1_000_000, 8)
