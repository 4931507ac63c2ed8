"""What the client carries for an upstream from turn to turn: sealed on the way out, opened on the way in."""

from typing import Any

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.provider_state import gathered, laid_together, words_of
from app.emitter.deltas import ProviderStateAdded
from app.emitter.open_reasoning import Seal, StatePiece
from app.prompt.nouns import OpenedState
from app.protocol.request.create_response import CreateResponse
from app.protocol.seals import Sealer

_HIDDEN = "hidden"
ASKED_FOR = "reasoning.encrypted_content"


class Carrying:
    """Seals for one model of one upstream, and opens what any of them sealed."""

    def __init__(self, sealer: Sealer, *, origin: str, model: str, one_maker: bool) -> None:
        self._sealer = sealer
        self._from = {"origin": origin} if one_maker else {"origin": origin, "model": model}
        self._model = model

    def seal(self, text: str, pieces: list[StatePiece]) -> str:
        """The `encrypted_content` of a thought and all that was kept with it."""
        fields = gathered(kept.fields for kept in pieces if kept.call_id is None)
        text = text or "".join(fields.pop(_HIDDEN, ()))
        calls = laid_together({kept.call_id: kept.fields} for kept in pieces if kept.call_id is not None)
        content: dict[str, Any] = {**self._from, "model": self._model}
        if text and text != words_of(fields):
            content["text"] = text
        if fields:
            content["fields"] = fields
        if calls:
            content["calls"] = calls
        return self._sealer.seal("reasoning", content)

    def open(self, envelope: str, path: str) -> OpenedState | None:
        """What is in it, or None if it cannot be read. Raises `ProblemError` as `Sealer.open` does."""
        content = self._sealer.open("reasoning", envelope, path)
        if content is None:
            return None
        fields = content.get("fields", {})
        own = all(content.get(name) == value for name, value in self._from.items())
        return OpenedState(content.get("text") or words_of(fields), own, fields, content.get("calls", {}))


def hidden(text: str) -> ProviderStateAdded:
    """A piece of a thought that the client does not hear of, for the upstream that thought it."""
    return ProviderStateAdded({_HIDDEN: [text]} if text else {})


def carrying(options: ChatOptions, model: str, sealer: Sealer | None) -> Carrying | None:
    """Who opens what clients bring back. None where nothing is sealed at all."""
    if sealer is None:
        return None
    return Carrying(sealer, origin=options.origin, model=model, one_maker=options.one_maker)


def sealing(request: CreateResponse, options: ChatOptions, model: str) -> Seal | None:
    """Who seals what this client is to carry. None if it is to carry nothing."""
    carries = carrying(options, model, options.sealer)
    asked = options.seal_always or ASKED_FOR in request.include
    return carries.seal if carries is not None and asked else None
