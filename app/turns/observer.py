"""Who else sees turns pass: counters, spans, the inspector. They change nothing, and a turn does not wait for them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from app.protocol.events import Event
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse

log = logging.getLogger("am_proxy")


class Account(Protocol):
    """What a witness writes down of one turn."""

    def asked(self, request: CreateResponse, ask: Any, warnings: list[str], upstream: str) -> None:
        """What the client wanted, what this upstream is asked for it now, and what could not be said to it.

        Called once for each ask: again where another upstream is asked, or the same one after a summary.
        """
        ...

    def told(self, events: list[Event]) -> None:
        """The client is told this."""
        ...

    def refused(self, problem: Problem) -> None:
        """The client is told this instead of an answer. The log has its code only: its words may be the client's."""
        ...

    def ended(self, fields: Mapping[str, Any]) -> None:
        """It is over; `fields` is what the log says of it. Called once, however it ended."""
        ...


class Witness(Protocol):
    """Somebody who wants an account of every turn."""

    def began(self, fields: Mapping[str, Any]) -> Account:
        """A request came in. So far it has a `request_id`, and what is known of the way it came."""
        ...


class Observers:
    """All accounts of one turn. One that raises is logged once; of the turn it then gets nothing more but the end.

    It gets the end all the same, because that is where it releases what it holds of the turn.
    """

    def __init__(self, witnesses: Sequence[Witness], fields: Mapping[str, Any]) -> None:
        self._request_id = fields.get("request_id", "")
        self._failed: set[int] = set()
        """Positions in `_accounts`."""
        self._accounts: list[Account] = []
        for witness in witnesses:
            try:
                self._accounts.append(witness.began(fields))
            except Exception as error:  # noqa: BLE001 — whatever it is: it is no part of the turn
                self._log(witness, error)

    def each(self, call: Callable[[Account], None]) -> None:
        """Calls every account that has not failed."""
        for position, account in enumerate(self._accounts):
            if position not in self._failed:
                self._guarded(position, account, call)

    def told(self, events: list[Event]) -> None:
        """The same as `each`, for what the client is told. It is spelled out, for it is called for every event."""
        for position, account in enumerate(self._accounts):
            if position not in self._failed:
                try:
                    account.told(events)
                except Exception as error:  # noqa: BLE001 — as above
                    self._log(account, error)
                    self._failed.add(position)

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Tells every account that the turn is over."""
        for position, account in enumerate(self._accounts):
            self._guarded(position, account, lambda account: account.ended(fields))

    def _guarded(self, position: int, account: Account, call: Callable[[Account], None]) -> None:
        try:
            call(account)
        except Exception as error:  # noqa: BLE001 — as above
            if position not in self._failed:
                self._log(account, error)
            self._failed.add(position)

    def _log(self, observer: Witness | Account, error: Exception) -> None:
        extra = {"request_id": self._request_id}
        log.error("an observer failed: %s", type(observer).__name__, exc_info=error, extra=extra)
