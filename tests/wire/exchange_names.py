"""Stable names for what differs from run to run: ids, sealed content, times and the addresses of scripted servers."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

TIME: Final = 1_700_000_000
"""Stands for every time in an answer."""
_TIMES: Final = frozenset({"created_at", "completed_at", "created"})
_VARYING: Final = re.compile(
    r"([a-z]+_AM-)(?:\d{13}-[a-z0-9]{8}|[a-z0-9]{12})(?![a-z0-9])"  # an id of this server
    r"|(call_)[0-9a-f]{28}(?![0-9a-z])"  # made by litellm
    r"|(AM2\.)[A-Za-z0-9_-]{40,}"  # sealed by this server
    r"|(AMR1\.)[0-9a-f]{10}(?=\.)"  # the mark of what an upstream sealed, which is made of its address
)
_NAMED: Final = re.compile(r"\b(?:[a-z]+_AM-|AM2\.|AMR1\.|call_)\d{1,3}(?!\w)")


class StableNames:
    """Each id has one name, which is its kind and a number, so that a transcript shows which ids are the same.

    Numbers are given in the order in which ids are seen, so what is seen first must be the same in every run.
    """

    def __init__(self, addresses: Mapping[str, str], model: str = "m") -> None:
        """`addresses` maps the names of servers to where they are in this run. The model is `m` in every case."""
        self._addresses = dict(addresses)
        self._model = model
        self._names: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def named(self, value: Any) -> Any:
        """What was received, with names for what varies."""
        text = _VARYING.sub(lambda found: self._name(found[0], str(found[found.lastindex or 0])), json.dumps(value))
        for name, address in self._addresses.items():
            text = text.replace(address, name)
        return _timeless(json.loads(text.replace(self._model, "m")))

    def real(self, value: Any) -> Any:
        """What is to be sent, with the values of this run for names. An unknown name stays as it is."""
        text = _NAMED.sub(lambda found: self._values.get(found[0], found[0]), json.dumps(value))
        for name, address in self._addresses.items():
            text = text.replace(name, address)
        return json.loads(text)

    def asked(self, body: Any) -> Any:
        """What a client is to send, to the model of this case."""
        real = self.real(body)
        return {**real, "model": self._model} if isinstance(real, dict) and real.get("model") == "m" else real

    def _name(self, value: str, kind: str) -> str:
        if value not in self._names:
            self._counts[kind] += 1
            self._names[value] = name = f"{kind}{self._counts[kind]}"
            self._values[name] = value
        return self._names[value]


def _timeless(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: TIME if key in _TIMES and type(held) is int else _timeless(held) for key, held in value.items()
            }
        case list():
            return [_timeless(held) for held in value]
        case _:
            return value
