"""Seals provider state in an answer, and opens it in the next request, where the client sends it back."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from ..emitter.open_reasoning import Seal, StatePiece
from ..protocol.request.create_response import ENCRYPTED_REASONING, CreateResponse
from ..protocol.seals import Sealer
from .nouns import OpenedState
from .prompt_rules import PromptRules

Fields = dict[str, Any]

HIDDEN: Final = "hidden"
"""The field of a state piece that holds reasoning which the client is not shown."""
SEARCHES: Final = "searches"
"""The field of a state piece that holds how many searches it holds: so many items of searches follow it."""
_LEVELS: Final = 16
"""Levels of nested objects that are merged key by key; of deeper objects the last one is kept."""


class StateForm(NamedTuple):
    """How one dialect writes provider state."""

    joined: Callable[[Iterable[Fields]], Fields]
    """The fields of an answer, from the pieces that were streamed."""
    words_of: Callable[[Fields], str]
    """The reasoning text that these fields hold, which is then not sealed twice."""


class StateSealer:
    """Seals state of one model of one upstream, and opens what any model sealed."""

    def __init__(
        self, sealer: Sealer, form: StateForm, *, origin: str, model: str, one_maker: bool, refused: bool = False
    ) -> None:
        """`refused`: the upstream does not take back what it made itself, so all of it counts as another's."""
        self._sealer = sealer
        self._refused = refused
        self._form = form
        self._from = {"origin": origin} if one_maker else {"origin": origin, "model": model}
        self._model = model

    def seal(self, text: str, pieces: list[StatePiece]) -> str:
        """The `encrypted_content` that holds this reasoning text and all state that came with it."""
        fields = self._form.joined(piece.fields for piece in pieces if piece.call_id is None)
        text = text or "".join(fields.pop(HIDDEN, ()))
        calls = merged({piece.call_id: piece.fields} for piece in pieces if piece.call_id is not None)
        content: dict[str, Any] = {**self._from, "model": self._model}
        if text and text != self._form.words_of(fields):
            content["text"] = text
        if fields:
            content["fields"] = fields
        if calls:
            content["calls"] = calls
        return self._sealer.seal("reasoning", content)

    def open(self, envelope: str, path: str) -> OpenedState | None:
        """What this envelope holds, or None if it cannot be read. Raises `ProblemError` as `Sealer.open` does."""
        content = self._sealer.open("reasoning", envelope, path)
        if content is None:
            return None
        fields = content.get("fields", {})
        own = not self._refused and all(content.get(name) == value for name, value in self._from.items())
        text = content.get("text") or self._form.words_of(fields)
        return OpenedState(text, own, fields, content.get("calls", {}))


def state_sealer(rules: PromptRules, model: str, form: StateForm) -> StateSealer | None:
    """The sealer of this model's state. None where nothing is sealed."""
    if rules.sealer is None:
        return None
    return StateSealer(
        rules.sealer,
        form,
        origin=rules.origin,
        model=model,
        one_maker=rules.one_maker,
        refused=rules.state_was_refused,
    )


def seal_for(request: CreateResponse, rules: PromptRules, model: str, form: StateForm) -> Seal | None:
    """The function that seals state for this client to send back. None if it gets no state."""
    sealer = state_sealer(rules, model, form)
    asked = rules.seal_always or ENCRYPTED_REASONING in request.include
    return sealer.seal if sealer is not None and asked else None


def merged(several: Iterable[Fields]) -> Fields:
    """Merges fields: lists are appended, objects are merged key by key, of other values the last one is kept."""
    together: Fields = {}
    for fields in several:
        _merge(fields, together)
    return together


def _merge(fields: Fields, together: Fields, levels: int = _LEVELS) -> None:
    """Adds these fields to `together`, whose lists and objects are its own: there may be thousands of pieces."""
    for name, value in fields.items():
        there = together.get(name)
        if isinstance(there, list) and isinstance(value, list):
            there += value
        elif isinstance(value, dict) and levels:
            own = there if isinstance(there, dict) else {}
            _merge(value, own, levels - 1)
            together[name] = own
        else:
            together[name] = list(value) if isinstance(value, list) else value
