"""The files of an exchange: what was said between a client, this server and the servers behind it, line by line."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

import pytest

from tests.wire.cases import folders
from tests.wire.comparison import lines
from tests.wire.servers import Cut, End, Hang, Json, Latch, Reset, Status, Step

UPSTREAM: Final = "http://upstream.example"
SEARCH: Final = "http://search.example"

EXCHANGES: Final = folders("exchanges", ["exchange.jsonl"])
each_exchange = pytest.mark.parametrize("folder", EXCHANGES, ids=[folder.name for folder in EXCHANGES])

STEPS: Final = frozenset({"get", "post", "options", "connect", "frame", "read", "open"})
"""Lines that say what the client does."""
RECEIVED: Final = frozenset({"response", "event", "closed"})
"""Lines that say what the client gets."""
REPLIES: Final = frozenset({"payload", "raw", "status", "gate", "hang", "cut", "reset", "end"})
"""Lines that say what the upstream answers to the ask before them."""


class Exchange(NamedTuple):
    """The lines of a file, by who says them."""

    client: list[Json]
    """What the client does and gets."""
    upstream: list[Json]
    """What the upstream is asked and answers."""
    search: list[Json]
    """What the search server is asked and answers."""

    @classmethod
    def of(cls, file: list[Json]) -> Self:
        """Lines in the order of time; between two that say things, this order is not compared."""
        result = cls([], [], [])
        for line in file:
            kind = next(iter(line))
            if kind in STEPS | RECEIVED:
                result.client.append(line)
            elif kind in REPLIES or kind == "ask":
                result.upstream.append(line)
            else:
                assert kind in {"search", "found"}, f"{kind} is no line of an exchange"
                result.search.append(line)
        return result

    @property
    def steps(self) -> list[Json]:
        """What the client does."""
        return [line for line in self.client if next(iter(line)) in STEPS]

    @property
    def replies(self) -> list[list[Json]]:
        """What the upstream answers to each ask."""
        result: list[list[Json]] = []
        for line in self.upstream:
            if "ask" in line:
                result.append([])
            else:
                result[-1].append(line)
        return result

    @property
    def found(self) -> list[Json]:
        """What the search server answers to each request."""
        return [line for line in self.search if "found" in line]


def script_step(line: Json, gates: Mapping[str, Latch]) -> Step:
    """A step of a scripted upstream."""
    kind, said = next(iter(line.items()))
    steps: dict[str, Callable[[], Step]] = {
        "payload": lambda: dict(said),
        "raw": lambda: said.encode("latin-1"),
        "status": lambda: Status(said, line.get("body"), line.get("headers", {})),
        "gate": lambda: gates[said],
        "hang": Hang,
        "cut": Cut,
        "reset": Reset,
        "end": End,
    }
    return steps[kind]()


def read_exchange(folder: Path) -> Exchange:
    """What is said in this exchange."""
    return Exchange.of(lines(folder / "exchange.jsonl"))
