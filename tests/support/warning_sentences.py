"""The sentences of warnings, as a client reads them."""

from collections.abc import Iterable

from app.protocol.warnings import ClientWarning


def sentences(warnings: Iterable[ClientWarning]) -> list[str]:
    """What each warning says."""
    return [warning.details for warning in warnings]
