"""How long to wait for an upstream, and for how long a client may hear nothing."""

from typing import NamedTuple


class Clocks(NamedTuple):
    """How long, in seconds."""

    keep_alive: float = 15
    """Silence towards the client."""
    first_payload: float = 120
    """Silence of the upstream before it says anything. The pump does not read it."""
    idle: float = 120
    """Silence of the upstream afterwards."""
    turn: float = 1800
    """Everything."""
