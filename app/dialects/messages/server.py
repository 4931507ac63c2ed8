"""Servers of the Messages API: headers, the bytes of their answers -> events, and how answers go on after a pause.

The beginning of an answer is held back until the next event: servers that are overloaded say so after it, and then
another upstream can still be asked. A whole answer that is sent although a stream was requested is read as the events
of a stream.
"""

from collections.abc import Sequence
from typing import Any

from ...types.json import Json
from ..frames import Frames, Lines, NotAnAnswerError
from ..record import Counter, Dialect, Translation
from .blocks import FORM
from .body import body
from .paused import Written
from .reader import EventReader

_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The beta feature of `thinking.block_binding`."""


class MessageFrames(Frames):
    """Reads one answer."""

    def __init__(self, asked: Json) -> None:
        super().__init__()
        self._held: list[Json] = []
        """The beginning of a message."""
        self._written = Written(asked)

    def end(self) -> list[Json]:
        """The events that are left when no more bytes come."""
        events, held, self._held = super().end(), self._held, []
        return events or held

    def go_on(self) -> Json | None:
        """The body to be posted for the rest of an answer that was paused, which is then read on."""
        if (asked := self._written.go_on()) is not None:
            self._lines, self.done = Lines(), False
        return asked

    def _taken(self, payload: Json) -> list[Json]:
        """The event itself, after the one that was held back for it."""
        event, kind = self._written.read(payload), payload.get("type")
        if kind == "ping":  # a server that sends nothing else is silent
            return []
        held, self._held = self._held, [event] if kind == "message_start" else []
        self.done = kind == "message_stop"
        return [] if self._held else [event] if failure(event) is not None else [*held, event]

    def _whole(self, answer: Json) -> list[Json]:
        """An answer that was not streamed, as events."""
        if failure(answer) is not None:
            return [answer]
        if not isinstance(answer.get("content"), list):
            raise NotAnAnswerError("the answer is no message")
        events: list[Json] = [{"type": "message_start", "message": answer}]
        for index, block in enumerate(answer["content"]):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            events.append({"type": "content_block_stop", "index": index})
        return [*events, {"type": "message_delta", "delta": answer, "usage": answer.get("usage")}]


def failure(event: Json) -> Any:
    """The error that this event is; None for any other."""
    is_error = event.get("type") == "error" or ("type" not in event and event.get("error"))
    return event.get("error") or event if is_error else None


def _headers(asked: Json, betas: Sequence[str]) -> dict[str, str]:
    """The version of the API, and the beta features of this ask."""
    binding = (_BINDING_BETA,) if "block_binding" in asked.get("thinking", {}) else ()
    features = ",".join(dict.fromkeys((*betas, *binding)))
    return {"anthropic-version": "2023-06-01", **({"anthropic-beta": features} if features else {})}


def _counted(asked: Json) -> Json:
    """What is counted of a body: servers refuse all that is about the answer."""
    return {name: asked[name] for name in _COUNTED if name in asked}


MESSAGES = Dialect(
    "/v1/messages",
    MessageFrames,
    failure,
    ("system", "messages", "tools"),
    Translation(body, lambda _prompt, _model, keeps_state: EventReader(keeps_state=keeps_state), FORM),
    (Counter("/v1/messages/count_tokens", "input_tokens", _counted, beside_v1=True, is_sure=True),),
    _headers,
    "/v1/models",
)
