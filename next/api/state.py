"""What all requests share, made of one configuration."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..catalog import Catalog
from ..history.sealing import Sealer, Seals
from ..observe.log import log_request, log_turn
from ..observe.metrics import count_errors, count_refused, count_turn
from ..observe.record import Record
from ..settings.load import Settings
from ..settings.tables import Caller, SealSettings
from ..turns.limits import Limits
from ..turns.signals import Why
from ..turns.turn import STOPPED, Turn
from ..types.problems import Problem, ProblemError
from .auth import Callers
from .hosts import Hosts

_OWN_KEY = secrets.token_urlsafe(32)
"""Seals where no key is configured: what is sealed opens until this process ends."""


class State:
    """The settings and what is made of them; limits, turns and the record outlive a change of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog(settings)
        self.callers = Callers(settings)
        self.hosts = Hosts(settings.server)
        self.limits = Limits()
        self._seals = _seals(settings.seal)
        self.record = Record(settings.server.kept_turns)
        self.started = int(time.time())
        self.stopping = False
        """Whether the server takes no more requests from a balancer."""
        self._stopped = False
        self._turns: set[Turn] = set()

    def sealer(self, owner: str) -> Sealer | None:
        """Seals and opens what this caller carries; None: nothing is sealed here."""
        always = self.settings.seal.when == "always"
        return Sealer(self._seals, owner, always=always) if self._seals else None

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
            turn.signals.signal(Why.STOPPED)

    def note(self, turn: Turn, caller: Caller, body: bytes) -> None:
        """A turn has ended."""
        took = time.monotonic() - turn.signals.began
        log_turn(turn, caller, took)
        self.record.add(turn, caller, body, took)
        if self.settings.server.metrics != "off":
            count_turn(turn, caller, self.settings.models, took)
            count_errors(self.catalog.breakers)

    def ended(
        self, request_id: str, caller: Caller, finish: str, problem: Problem | None = None, model: str | None = None
    ) -> None:
        """A request has ended that no turn was run for: it was counted, searched, refused, or its client has left."""
        log_request(request_id, caller, model, finish, problem)
        if self.settings.server.metrics != "off" and finish in {"refused", "left"}:
            count_refused(problem)


def _seals(settings: SealSettings) -> Seals | None:
    if settings.when == "never":
        return None
    keys = [key.get_secret_value() for key in settings.keys] or [_OWN_KEY]
    return Seals(keys, settings.max_age_days and settings.max_age_days * 86_400)
