"""What all requests share, made of one configuration."""

import time

from ..catalog import Catalog
from ..observe.log import log_turn
from ..observe.record import Record
from ..settings.load import Settings
from ..settings.tables import KeySettings
from ..turns.limits import Limits
from ..turns.turn import Turn
from .request import Callers


class State:
    """The settings and what is made of them; limits, turns and the record outlive a change of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog(settings)
        self.callers = Callers(settings)
        self.limits = Limits()
        self.record = Record(settings.server.kept_turns)
        self.turns: set[Turn] = set()
        self.stopping = False

    def note(self, turn: Turn, key: KeySettings | None, body: bytes) -> None:
        """A turn has ended."""
        took = time.monotonic() - turn.began
        log_turn(turn, key, took)
        self.record.add(turn, key, body, took)
