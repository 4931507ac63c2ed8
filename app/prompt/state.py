"""Provider state: what an upstream must get back. Clients carry it, sealed, in the reasoning items of answers.

Only the upstream and the model (or the maker) that wrote it get it back; others get the text of the reasoning alone.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..history.sealing import Sealer
from ..types.json import Json, as_object
from .nouns import Model

HIDDEN = "hidden"
"""The field of a state piece that holds reasoning which the client is not shown."""
SEARCHES = "searches"
"""The field of a state piece that holds how many searches it holds: so many items of searches follow it."""
_LEVELS = 16
"""Levels of nested objects that are merged key by key; of deeper objects the last one is kept."""


class StateForm(NamedTuple):
    """How one dialect writes provider state."""

    joined: Callable[[Iterable[Json]], Json]
    """The fields of an answer, from the pieces that were streamed."""
    words_of: Callable[[Json], str]
    """The reasoning text that these fields hold, which is then not sealed twice."""


class Opened(NamedTuple):
    """What was sealed in a reasoning item."""

    text: str
    """The exact text of the reasoning."""
    own: bool
    """Whether it comes from the same upstream. If not, only the text can be sent."""
    fields: Json
    """The state of the assistant's turn."""
    calls: dict[str, Json]
    """The state of its calls, by their ids as the client knows them."""


class State:
    """Seals the state of one model of one upstream, and opens what any model sealed."""

    def __init__(self, sealer: Sealer, form: StateForm, model: Model) -> None:
        self._sealer = sealer
        self._form = form
        self._model = model
        self._from = {"origin": model.origin, "model": model.upstream_name}
        self._same = ("origin",) if model.provider.one_maker else ("origin", "model")

    def seal(self, text: str, pieces: Iterable[tuple[Json, str | None]]) -> str:
        """The `encrypted_content` with this reasoning and the state that came with it: fields, and the id of the call
        that they belong to; None: to the answer as a whole.
        """
        pieces = list(pieces)
        fields = self._form.joined([held for held, call_id in pieces if call_id is None])
        text = text or "".join(fields.pop(HIDDEN, ()))
        calls = merged([{call_id: held} for held, call_id in pieces if call_id is not None])
        content: Json = {**self._from}
        if text and text != self._form.words_of(fields):
            content["text"] = text
        if fields:
            content["fields"] = fields
        if calls:
            content["calls"] = calls
        return self._sealer.seal("reasoning", content)

    def open(self, envelope: str, path: str) -> Opened | None:
        """What this envelope holds; None if it cannot be read."""
        content = self._sealer.open("reasoning", envelope, path)
        if content is None:
            return None
        fields = content.get("fields", {})
        own = not self._model.state_refused and all(content.get(name) == self._from[name] for name in self._same)
        return Opened(content.get("text") or self._form.words_of(fields), own, fields, content.get("calls", {}))


def merged(several: Iterable[Json]) -> Json:
    """Merges fields: lists are appended, objects are merged key by key, of other values the last one is kept."""
    together: Json = {}
    for fields in several:
        _merge(fields, together, _LEVELS)
    return together


def _merge(fields: Json, together: Json, levels: int) -> None:
    """Adds these fields to `together`, whose lists and objects are its own: there may be thousands of pieces."""
    for name, value in fields.items():
        there = together.get(name)
        if isinstance(there, list) and isinstance(value, list):
            there += value
        elif isinstance(value, dict) and levels:
            own = as_object(there)
            _merge(value, own, levels - 1)
            together[name] = own
        else:
            together[name] = list(value) if isinstance(value, list) else value
