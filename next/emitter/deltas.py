"""The pieces of a model's answer, the same for every dialect. Readers make them, and the emitter reads them."""

from typing import Any, Literal

import msgspec

from ..types.problems import Problem
from ..types.response import Usage


class TextDelta(msgspec.Struct):
    """More of the answer, with the log probabilities of its tokens where they were asked for."""

    text: str
    logprobs: list[dict[str, Any]] = []


class RefusalDelta(msgspec.Struct):
    """More of a refusal."""

    text: str


class ReasoningDelta(msgspec.Struct):
    """More reasoning."""

    text: str


class CallOpened(msgspec.Struct):
    """A tool call begins. `key` identifies it within its turn; `call_id` is the upstream's, empty if it gave none."""

    key: int
    name: str
    call_id: str = ""


class CallArguments(msgspec.Struct):
    """More arguments of the call that was opened under `key`."""

    key: int
    text: str


class UsageReported(msgspec.Struct):
    """The usage that the upstream reported. A later report replaces it."""

    usage: Usage


class Stopped(msgspec.Struct):
    """Why the upstream ended. A stream without it was cut. If it comes several times, the last one is used."""

    reason: Literal["end", "length", "content_filter"]


class Broke(msgspec.Struct):
    """The upstream reported an error in mid-stream."""

    problem: Problem


Delta = TextDelta | RefusalDelta | ReasoningDelta | CallOpened | CallArguments | UsageReported | Stopped | Broke
