"""What all requests share, made of one configuration."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..catalog import Catalog
from ..observe.log import log_turn
from ..observe.record import Record
from ..settings.load import Settings
from ..settings.tables import KeySettings
from ..turns.limits import Limits
from ..turns.turn import STOPPED, Turn, Why
from ..types.problems import ProblemError
from .auth import Callers


class State:
    """The settings and what is made of them; limits, turns and the record outlive a change of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog(settings)
        self.callers = Callers(settings)
        self.limits = Limits()
        self.record = Record(settings.server.kept_turns)
        self.stopping = False
        """Whether the server takes no more requests from a balancer."""
        self._stopped = False
        self._turns: set[Turn] = set()

    @contextmanager
    def running(self, turn: Turn) -> Iterator[None]:
        """The turn runs within the block. Raises `ProblemError` where turns have been stopped."""
        if self._stopped:
            raise ProblemError(STOPPED)
        self._turns.add(turn)
        try:
            yield
        finally:
            self._turns.discard(turn)

    def stop_turns(self) -> None:
        """Ends all turns: the grace is over."""
        self._stopped = True
        for turn in list(self._turns):
            turn.signal(Why.STOPPED)

    def note(self, turn: Turn, key: KeySettings | None, body: bytes) -> None:
        """A turn has ended."""
        took = time.monotonic() - turn.began
        log_turn(turn, key, took)
        self.record.add(turn, key, body, took)
