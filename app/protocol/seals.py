"""Seals: content that a client carries from turn to turn and can neither read nor change."""

from typing import Any, Final, Protocol

FORMER: Final = "AM1."
"""The prefix of envelopes of the first version, which any caller of a server could open."""
VERSION: Final = "AM2."
"""The prefix of every envelope. It changes with the format of envelopes."""
ENVELOPES: Final = (FORMER, VERSION)
"""The prefixes of envelopes of any AM Proxy."""

Kind = str
"""The kind of the content. An envelope of one kind cannot be opened as another."""


class Sealer(Protocol):
    """Seals and opens envelopes for one request of one caller. They are a stateless server's only memory.

    An envelope sealed for one caller opens for no other, unless seals are shared. The total size of what it opens is
    limited, so that a small request cannot make the server hold and read a large one.
    """

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope around this content, in plain characters."""
        ...

    def open(self, kind: Kind, envelope: str, path: str) -> dict[str, Any] | None:
        """The content of this envelope. None: forged, damaged, too old, another caller's, or its key is unknown.

        Raises `ProblemError`, with the path of the envelope in the request, where the limit is exceeded.
        """
        ...

    def fresh(self) -> "Sealer":
        """A copy that has opened nothing yet, to read the same request once more."""
        ...


class Sealers(Protocol):
    """Makes the sealer of each caller."""

    def for_owner(self, owner: str, *, alone: bool) -> Sealer:
        """A sealer that has opened nothing, for this owner. One that is `alone` never shares seals."""
        ...
