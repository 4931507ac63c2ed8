"""Reads the answers to the questions of `am-proxy doctor`: whether they are complete, streamed and counted."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..dialects.chat.decode import ChunkReader
from ..dialects.messages.message_reader import MessageReader
from ..emitter.deltas import CallArguments, CallOpened, ReasoningDelta, Stopped, TextDelta, UsageReported
from ..protocol.problems import Problem

Json = dict[str, Any]


class ProbeAnswer(NamedTuple):
    """One answer of an upstream. Times are in seconds since it was asked."""

    fault: str = ""
    """Why it is no use; empty if it is."""
    problem: Problem | None = None
    """Why there is no answer."""
    first: float = 0
    whole: float = 0
    pieces: int = 0
    """The number of pieces of its content."""
    counted: bool = False
    """Whether it had usage."""
    calls: bool = False
    """Whether it called a function."""


def read_chunks(chunks: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of chat completions."""
    reader = ChunkReader()
    read = [(when, reader.read(chunk)) for when, chunk in zip(times, chunks, strict=True)]
    deltas = [delta for _, each in read for delta in each] + reader.rest()
    content = [when for when, each in read if any(not isinstance(delta, Stopped | UsageReported) for delta in each)]
    choices = [choice for chunk in chunks for choice in _list(chunk.get("choices")) if isinstance(choice, dict)]
    if not choices:
        return ProbeAnswer("the answer is empty")
    if not any(choice.get("finish_reason") for choice in choices):
        return ProbeAnswer("it never says why it ends (finish_reason), so every answer counts as cut off")
    return _good(content, deltas, counted=any(isinstance(chunk.get("usage"), dict) for chunk in chunks))


def read_messages(events: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of the Messages API."""
    reader = MessageReader()
    read = [(when, reader.read(event)) for when, event in zip(times, events, strict=True)]
    deltas = [delta for _, each in read for delta in each] + reader.rest()
    shown = (TextDelta, ReasoningDelta, CallOpened, CallArguments)
    content = [when for when, each in read if any(isinstance(delta, shown) for delta in each)]
    if not any(isinstance(delta, Stopped) for delta in deltas):
        return ProbeAnswer("it never says why it ends (stop_reason), so every answer counts as cut off")
    return _good(content, deltas, counted=any(isinstance(delta, UsageReported) for delta in deltas))


def _good(content: Sequence[float], deltas: Iterable[object], *, counted: bool) -> ProbeAnswer:
    calls = any(isinstance(delta, CallOpened) for delta in deltas)
    return ProbeAnswer(first=content[0] if content else 0, pieces=len(content), counted=counted, calls=calls)


def read_events(events: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of Responses."""
    if not events:
        return ProbeAnswer("the answer is empty")
    kinds = [str(event["type"])[:60] for event in events]
    response = _dict(events[-1].get("response"))
    if kinds[-1] == "response.failed":
        reason = _dict(response.get("error")).get("message")
        return ProbeAnswer(f"it speaks them, but the answer failed: {reason}")
    whole = kinds[0] == "response.created" and kinds[-1] in {"response.completed", "response.incomplete"}
    if not whole or (_list(response.get("output")) and "response.output_item.done" not in kinds):
        return ProbeAnswer(f"its events are not those of Responses, from {kinds[0]} to {kinds[-1]}")
    content = [when for when, event in zip(times, events, strict=True) if isinstance(event.get("delta"), str)]
    done = [event.get("item") for event in events if event["type"] == "response.output_item.done"]
    return ProbeAnswer(
        first=content[0] if content else 0,
        pieces=len(content),
        counted=isinstance(response.get("usage"), dict),
        calls=any(_dict(item).get("type") == "function_call" for item in (*_list(response.get("output")), *done)),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
