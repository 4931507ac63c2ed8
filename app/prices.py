"""What tokens cost, as an estimate: by the prices of the configuration, or by those that litellm lists for a provider.

litellm itself is not imported for that: its list is a file of its package, which is read once, in a thread.
"""

import logging
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

log = logging.getLogger("am_proxy")

MILLION: Final = 1_000_000
_FILE: Final = "model_prices_and_context_window_backup.json"


class ModelPrice(NamedTuple):
    """The prices of a model, in dollars for each token."""

    input: float
    cached: float
    """Of input that its server has read from a cache."""
    written: float
    """Of input that its server has written to a cache."""
    output: float
    source: Literal["settings", "litellm"]

    def cost(self, *, sent: int, cached: int, written: int, received: int) -> float:
        """The dollars for so many tokens. `cached` and `written` are part of those that were sent."""
        fresh = max(sent - cached - written, 0)
        return fresh * self.input + cached * self.cached + written * self.written + received * self.output


FindPrice = Callable[[str], ModelPrice | None]
"""The price of a model by its name at an upstream."""


def no_price(_model: str) -> ModelPrice | None:
    """No price is known."""
    return None


def configured_price(sent: float, cached: float | None, received: float) -> ModelPrice:
    """The price with these dollars for a million tokens."""
    read = sent if cached is None else cached
    return ModelPrice(sent / MILLION, read / MILLION, sent / MILLION, received / MILLION, "settings")


class _ListedModel(msgspec.Struct):
    """What is read of a model in litellm's list, which holds anything."""

    input_cost_per_token: Any = None
    output_cost_per_token: Any = None
    cache_read_input_token_cost: Any = None
    cache_creation_input_token_cost: Any = None
    litellm_provider: Any = None


class PriceList:
    """litellm's list, read when it is first needed. Without litellm it is empty."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._prices: dict[str, tuple[str, ModelPrice]] = {}
        self._reading: threading.Thread | None = None

    def find(self, provider: str, model: str) -> ModelPrice | None:
        """The price of this model at this provider, if it is listed; not known until the list is read."""
        if self._reading is None:
            self._reading = threading.Thread(target=self._read, name="am-proxy-prices", daemon=True)
            self._reading.start()
        for name in (f"{provider}/{model}", model):
            found = self._prices.get(name)
            if found is not None and found[0] == provider:
                return found[1]
        return None

    def wait(self) -> None:
        """Returns when the list is read, if that has begun."""
        if self._reading is not None:
            self._reading.join()

    def _read(self) -> None:
        try:
            file = self._file or _installed()
            if file is not None:
                rows = msgspec.json.decode(file.read_bytes(), type=dict[str, _ListedModel])
                self._prices = {name: priced for name, row in rows.items() if (priced := _priced(row)) is not None}
        except (OSError, msgspec.DecodeError):
            log.warning("litellm's list of prices cannot be read, so costs are not estimated by it")


def _priced(row: _ListedModel) -> tuple[str, ModelPrice] | None:
    sent, received = _number(row.input_cost_per_token), _number(row.output_cost_per_token)
    if sent is None or received is None or not (sent or received) or not isinstance(row.litellm_provider, str):
        return None
    cached, written = _number(row.cache_read_input_token_cost), _number(row.cache_creation_input_token_cost)
    price = ModelPrice(sent, sent if cached is None else cached, written or sent, received, "litellm")
    return row.litellm_provider, price


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _installed() -> Path | None:
    """The list of the installed litellm."""
    spec = find_spec("litellm")
    places = None if spec is None else spec.submodule_search_locations
    return Path(places[0]) / _FILE if places else None
