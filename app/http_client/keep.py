"""How many idle connections are kept."""

from typing import Final, NamedTuple


class Keep(NamedTuple):
    """How many idle connections to a server are kept, and for how many seconds."""

    connections: int = 32
    seconds: float = 60


KEEP: Final = Keep()
"""Used if nothing is configured."""
