"""What a model can say in one tick, in no dialect. The narrow waist: readers make these, the emitter takes them."""

from typing import Any, Literal

import msgspec

from app.protocol.problems import Problem
from app.protocol.response import Usage


class TextDelta(msgspec.Struct, frozen=True):
    """More of the answer, with the log probabilities of its tokens where they were asked for."""

    text: str
    logprobs: list[dict[str, Any]] = []


class RefusalDelta(msgspec.Struct, frozen=True):
    """More of a refusal."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """More of what the model thinks."""

    text: str


class AnnotationAdded(msgspec.Struct, frozen=True):
    """A citation, in the form the client is told but for its position.

    Its text begins `from_start` characters behind the last one written, and ends `from_end` behind it.
    """

    annotation: dict[str, Any]
    from_start: int = 0
    from_end: int = 0

    def is_of(self, written: int) -> bool:
        """Whether it is about the last `written` characters, at least in part."""
        return self.from_end < written or self.from_start <= written


class ImageWritten(msgspec.Struct, frozen=True):
    """A whole image, in base64, and its format (`png`, …; empty if nobody knows)."""

    data: str
    format: str = ""


class ProviderStateAdded(msgspec.Struct, frozen=True):
    """What the upstream wants back in the next turn and the client has no use for, such as a signature.

    Of the call that was opened under `key`, or of the whole answer. Only the dialect knows what it means.
    """

    fields: dict[str, Any]
    key: int | None = None


class Compacted(msgspec.Struct, frozen=True):
    """The conversation was summed up; what is left of it, sealed."""

    encrypted_content: str


class CallOpened(msgspec.Struct, frozen=True):
    """A tool call begins. `key` tells it apart within its turn; `call_id` is the upstream's, empty if it gave none.

    `kept` is what the upstream wants back with this call.
    """

    key: int
    name: str
    call_id: str = ""
    kept: dict[str, Any] = {}


class CallArguments(msgspec.Struct, frozen=True):
    """More arguments of the call that was opened under `key`."""

    key: int
    text: str


class UsageReported(msgspec.Struct, frozen=True):
    """What the upstream counted; the last one holds."""

    usage: Usage


class Stopped(msgspec.Struct, frozen=True):
    """The upstream said why it ended. Without it, a stream that ends was cut. Some say it often: the last one holds."""

    reason: Literal["end", "length", "content_filter"]


class Broke(msgspec.Struct, frozen=True):
    """The upstream reported an error in mid-stream."""

    problem: Problem


Delta = (
    TextDelta
    | RefusalDelta
    | ReasoningDelta
    | AnnotationAdded
    | ProviderStateAdded
    | ImageWritten
    | Compacted
    | CallOpened
    | CallArguments
    | UsageReported
    | Stopped
    | Broke
)
