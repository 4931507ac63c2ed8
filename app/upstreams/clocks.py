"""Time limits of a turn: silence of the upstream, silence towards the client, and the whole turn."""

from typing import NamedTuple


class Clocks(NamedTuple):
    """Time limits in seconds."""

    keep_alive: float = 15
    """Silence towards the client, after which a keep-alive is sent."""
    first_payload: float = 120
    """Silence of the upstream before its first payload."""
    idle: float = 120
    """Silence of the upstream after its first payload."""
    turn: float = 1800
    """The whole turn."""
