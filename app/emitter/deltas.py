"""The pieces of a model's answer, the same for every dialect. Readers make them, and the emitter reads them."""

from typing import Literal

import msgspec

from ..types.json import Json
from ..types.problems import Problem
from ..types.response import Usage


class Delta(msgspec.Struct):
    """One piece."""


Deltas = list[Delta]


class TextDelta(Delta):
    """More of the answer, with the log probabilities of its tokens where they were asked for."""

    text: str
    logprobs: list[Json] = []


class RefusalDelta(Delta):
    """More of a refusal."""

    text: str


class ReasoningDelta(Delta):
    """More reasoning."""

    text: str


class ThoughtEnded(Delta):
    """The reasoning so far, with its provider state, is one item: what follows is another one."""


class AnnotationAdded(Delta):
    """A citation, as the client gets it except for its offsets in the text.

    The cited text begins `from_start` characters before the end of what was written, and ends `from_end` before it.
    """

    annotation: Json
    from_start: int = 0
    from_end: int = 0

    def is_of(self, written: int) -> bool:
        """Whether it is about the last `written` characters, at least in part."""
        return self.from_end < written or self.from_start <= written


class ImageWritten(Delta):
    """A complete image, in base64, and its format (`png`, …; empty if it is not known)."""

    data: str
    format: str = ""


class SearchMade(Delta):
    """A search of the web that the model's server made, with the URLs of the pages that it found."""

    query: str
    urls: tuple[str, ...] = ()
    failed: bool = False


class ProviderStateAdded(Delta):
    """Provider state: fields that the upstream must get back in the next turn, such as a signature.

    It belongs to the call that was opened under `key`, or to the whole answer. Only the dialect can interpret it.
    """

    fields: Json
    key: int | None = None


class CallOpened(Delta):
    """A tool call begins. `key` identifies it within its turn; `call_id` is the upstream's, empty if it gave none.

    `provider_state` is what the upstream must get back with this call.
    """

    key: int
    name: str
    call_id: str = ""
    provider_state: Json = {}


class CallArguments(Delta):
    """More arguments of the call that was opened under `key`."""

    key: int
    text: str


class UsageReported(Delta):
    """The usage that the upstream reported. A later report replaces it."""

    usage: Usage


class Stopped(Delta):
    """Why the upstream ended. A stream without it was cut. If it comes several times, the last one is used."""

    reason: Literal["end", "length", "content_filter"]


class Broke(Delta):
    """The upstream reported an error in mid-stream."""

    problem: Problem
