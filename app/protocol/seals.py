"""Seals: content that a client carries from turn to turn and can neither read nor change."""

from typing import Any, Final, Protocol

FORMER: Final = "AM1."
"""How envelopes began that any caller of a server could open."""
VERSION: Final = "AM2."
"""How every envelope begins. What changes its form changes this."""
ENVELOPES: Final = (FORMER, VERSION)
"""How an envelope of an AM Proxy may begin, of this one or another."""

Kind = str
"""What is sealed. A seal of one kind never opens as another."""


class Sealer(Protocol):
    """Seals and opens for one request of one caller. A stateless server's only memory: the client brings it back.

    What it sealed for one caller opens for no other, unless seals are shared. What it opens has a bound in all, so
    that a small request cannot make the server hold and read a large one.
    """

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope around this content, in plain characters."""
        ...

    def open(self, kind: Kind, envelope: str, path: str) -> dict[str, Any] | None:
        """What this envelope holds. None if it is forged, damaged, too old, another's, or its key is not here.

        Raises `ProblemError`, by the path of the envelope in the request, where the bound is passed.
        """
        ...

    def fresh(self) -> "Sealer":
        """The same sealer with nothing opened yet: for the next time that the same request is read."""
        ...


class Sealers(Protocol):
    """Makes the sealer of each caller."""

    def for_owner(self, owner: str, *, alone: bool) -> Sealer:
        """A sealer that has opened nothing, for this owner. One that is `alone` never shares seals."""
        ...
