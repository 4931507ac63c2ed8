"""What all requests share, made of one configuration."""

import asyncio
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import Scope

from ..catalog import Catalog
from ..history.sealing import Sealer, Seals
from ..observe.log import fields_of, fields_without_turn, log, log_turn
from ..observe.metrics import count_refused, count_turn
from ..observe.prices import cost_of
from ..observe.record import Record
from ..observe.shown import Folder
from ..settings.load import Settings
from ..settings.tables import Caller, SealSettings
from ..turns.limits import Limits
from ..turns.signals import Why
from ..turns.turn import STOPPED, Turn
from ..types.json import as_text
from ..types.parse import decode
from ..types.problems import Problem, ProblemError
from .auth import Callers, Hosts

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from ..observe.tracing import Tracing

_OWN_KEY = secrets.token_urlsafe(32)
"""Seals where no key is configured: what is sealed opens until this process ends."""
_LINGER = 60
"""Seconds."""
_LARGE = 128 * 1024
"""Bytes of a body that takes milliseconds, as a seal may: one is begun at a time, so that others go between."""
_MIB = 1024 * 1024
_PAUSE = 0.01
"""Seconds that others get for each of these."""


class State:
    """The settings and what is made of them; limits, turns and the record outlive a change of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog(settings)
        self.callers = Callers(settings)
        self.hosts = Hosts(settings.server)
        self._seals = _seals(settings.seal)
        self.limits = Limits()
        folder = settings.server.record
        self._saved = Folder(Path(folder).expanduser()) if folder else None
        self.record = Record(settings.server.kept_turns, self._saved.write if self._saved else None)
        self._tracing = _tracing(settings.server.traces)
        self.started = int(time.time())
        self.stopping = False
        """Whether the server takes no more requests from a balancer."""
        self._stopped = False
        self._turns: set[Turn] = set()
        self.reading: set[asyncio.Timeout] = set()
        """The clocks of bodies that arrive."""
        self._large = asyncio.Lock()
        """Large bodies that have arrived wait here."""
        self._former: dict[Catalog, asyncio.Task[None]] = {}
        """Catalogs that running turns still use."""

    def change(self, settings: Settings) -> None:
        """Serves with these settings from now on. What runs keeps those that it has."""
        catalog, seals = Catalog(settings), _seals(settings.seal)  # nothing is changed if one of them fails
        self._former[self.catalog] = asyncio.create_task(self._retire(self.catalog, frozenset(self._turns)))
        self.settings, self.catalog, self._seals = settings, catalog, seals
        self.callers, self.hosts = Callers(settings), Hosts(settings.server)

    async def _retire(self, catalog: Catalog, turns: frozenset[Turn]) -> None:
        """Closes a catalog behind these turns, and behind requests of a few seconds, such as counting."""
        await asyncio.sleep(_LINGER)
        while not turns.isdisjoint(self._turns):
            await asyncio.sleep(_LINGER)
        await catalog.close()
        del self._former[catalog]

    async def close(self) -> None:
        """Close every connection to an upstream, when all turns are written, and send what is left of the traces."""
        if self._saved is not None:
            await asyncio.to_thread(self._saved.close)
        for task in self._former.values():
            task.cancel()
        for catalog in (self.catalog, *self._former):
            await catalog.close()
        if self._tracing:
            await asyncio.to_thread(self._tracing.close)

    def sealer(self, owner: str) -> Sealer | None:
        """Seals and opens what this caller carries; None: nothing is sealed here."""
        always = self.settings.seal.when == "always"
        return Sealer(self._seals, owner, always=always) if self._seals else None

    async def wait_if_large(self, body: bytes, remembered: bytes = b"") -> None:
        """Waits behind others, if it takes long to read these."""
        size = len(body) + len(remembered)
        if size > _LARGE or b'"AM2.' in body or b'"AM2.' in remembered:
            async with self._large:
                await asyncio.sleep(size // _MIB * _PAUSE)

    async def run(self, turn: Turn, caller: Caller, body: bytes, headers: Headers) -> None:
        """Runs the turn for this body. Raises `ProblemError` where turns have been stopped."""
        if self._stopped:
            raise ProblemError(STOPPED)
        span = None
        if self._tracing:
            span, traced = self._tracing.begin(turn.request, headers)
            turn.routes = [route._replace(headers=traced) for route in turn.routes]
        self._turns.add(turn)
        self.record.begin(turn, caller, body)
        try:
            await turn.run()
        finally:
            self._turns.discard(turn)
            self._note(turn, caller, span)

    def stop(self) -> None:
        """The server stops: turns have the grace to end, and pages that watch do not wait."""
        grace = self.settings.server.shutdown_grace
        if self._turns:
            log.info("stopping, after %g s at most for running turns (%d)", grace, len(self._turns))
        asyncio.get_running_loop().call_later(grace, self.stop_turns)
        self.record.wake()

    def stop_turns(self) -> None:
        """Ends all turns, and reads no more bodies: the grace is over."""
        self._stopped = True
        for turn in list(self._turns):
            turn.signals.signal(Why.STOPPED)
        while self.reading:
            self.reading.pop().reschedule(0)

    def _note(self, turn: Turn, caller: Caller, span: "Span | None") -> None:
        took = time.monotonic() - turn.signals.began
        cost = cost_of(turn.usage, turn.route.model)
        fields = fields_of(turn, caller, took, cost)
        log_turn(fields)
        self.record.end(turn, fields)
        if self.settings.server.metrics != "off":
            count_turn(turn, caller, self.settings.models, took, cost)
        if self._tracing and span is not None:
            self._tracing.end(span, turn.route.model.upstream.provider or turn.route.model.upstream.via, fields)

    def ended(
        self,
        scope: Scope,
        caller: Caller,
        finish: str,
        problem: Problem | None = None,
        model: str | None = None,
        body: bytes = b"",
    ) -> None:
        """A request has ended that no turn was run for: it was counted, searched, refused, or its client has left."""
        if problem is not None and body:
            with suppress(ProblemError):
                model = as_text(decode(body).get("model"))
        fields = fields_without_turn(scope["request_id"], caller, model, finish, problem)
        log_turn(fields)
        if problem is not None and body:
            self.record.refused(caller, body, fields, problem)
        if self.settings.server.metrics != "off" and finish in {"refused", "disconnected"}:
            count_refused(problem)


def _tracing(collector: str) -> "Tracing | None":
    if not collector:
        return None
    from ..observe.tracing import Tracing  # an extra of the package

    return Tracing(collector)


def _seals(settings: SealSettings) -> Seals | None:
    if settings.when == "never":
        return None
    keys = [key.get_secret_value() for key in settings.keys] or [_OWN_KEY]
    return Seals(keys, settings.max_age_days and settings.max_age_days * 86_400)
