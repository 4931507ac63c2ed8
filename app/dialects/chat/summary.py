"""A summary while the model writes it: told to nobody, sealed at its end."""

from typing import Final

from msgspec.structs import replace

from app.compaction.prompt import CUT
from app.emitter.deltas import Broke, Compacted, Delta, RefusalTextDelta, Stopped, TextDelta, UsageReported
from app.protocol.problems import Problem
from app.protocol.response import InputTokensDetails, OutputTokensDetails, Usage

NOTHING: Final = Problem(
    code="upstream_error", message="The model was asked to sum the conversation up, and wrote none."
)
NO_SEAL: Final = (
    "This server cannot sum conversations up: what is left of one is sealed, and its configuration says `seal.when`"
    ' = "never".'
)


class Summary:
    """Takes what the model says in place of the emitter."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._refusal: list[str] = []
        self._stopped: Stopped | None = None
        self.usage: Usage | None = None

    @property
    def text(self) -> str:
        """All of it, once it has ended. One that a limit cut says so, to the model that will read it."""
        if self._stopped is None:
            return ""
        text = "".join(self._texts).strip()
        return f"{text}\n\n{CUT}" if text and self._stopped.reason != "end" else text

    def take(self, deltas: list[Delta]) -> list[Delta]:
        """What of this concerns others: an error. Thoughts and calls are not wanted here, and go nowhere."""
        broke: list[Delta] = []
        for delta in deltas:
            match delta:
                case TextDelta():
                    self._texts.append(delta.text)
                case RefusalTextDelta():
                    self._refusal.append(delta.text)
                case UsageReported():
                    self.usage = delta.usage
                case Stopped():
                    self._stopped = delta
                case Broke():
                    broke.append(delta)
                case _:
                    pass
        return broke

    def failure(self) -> list[Delta]:
        """Why there is none, if it has ended and there is none. A stream that was cut is for the emitter to judge."""
        if self._stopped is None or self.text:
            return []
        if self._refusal:
            words = f"The model refused to sum the conversation up: {''.join(self._refusal).strip()}"
            return [Broke(Problem(code="invalid_prompt", message=words))]
        return [Broke(NOTHING)]

    def ending(self, envelope: str) -> list[Delta]:
        """All that the client is told of it. One that a limit cut makes the response incomplete."""
        return [Compacted(envelope), *([self._stopped] if self._stopped is not None else [])]


def together(one: Usage, other: Usage) -> Usage:
    """What two asks used."""
    both = replace(
        other,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=one.input_tokens_details.cached_tokens + other.input_tokens_details.cached_tokens,
            cache_write_tokens=one.input_tokens_details.cache_write_tokens
            + other.input_tokens_details.cache_write_tokens,
        ),
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=one.output_tokens_details.reasoning_tokens + other.output_tokens_details.reasoning_tokens
        ),
    )
    return replace(both, estimated=True) if one.estimated is True else both
