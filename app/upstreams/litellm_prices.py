"""Keeps litellm from calculating prices, which it does for every answer before it is read. litellm is an argument."""

from typing import Any


def omit_prices(litellm: Any) -> None:
    """Make litellm add nothing to an answer. It would add price, times and address, which nobody reads here."""
    litellm.utils.update_response_metadata = _nothing


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""
