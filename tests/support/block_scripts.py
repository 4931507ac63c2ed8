"""Scripts of a chat server, translated to those of a server of the Messages API that says the same.

A block is sent whole before the next one begins, so arguments of calls that arrive by turns are gathered.
"""

from collections.abc import Sequence

from tests.support.chat_as_messages import ERRORS, NoCounterpartError, messages_answer
from tests.support.chat_scripts import delta_of, with_calls_together
from tests.wire.servers import Cut, Json, Pause, Script, Status, Step


def as_blocks(script: Script) -> Script:
    """The script of a server of the Messages API that says the same."""
    if callable(script):
        return lambda ask: _translated(script(ask))
    return _translated(script)


def _translated(steps: Sequence[Step]) -> list[Step]:
    match steps:
        case [*before, Status(status, {"error": {"message": str(message)}}, headers)]:
            kind = ERRORS.get(status, "invalid_request_error")
            return [*before, Status(status, {"type": "error", "error": {"type": kind, "message": message}}, headers)]
        case _:
            answer = messages_answer(_as_in_blocks([_line(step) for step in steps]))
    pauses = [step for step in steps if isinstance(step, Pause)]
    translated = list(answer.steps)
    for place, pause in reversed(list(zip(answer.silences, pauses, strict=True))):
        translated.insert(place, pause)
    return translated


def _line(step: Step) -> Json:
    """A step as a transcript holds it."""
    match step:
        case dict():
            return step
        case Pause():
            return {"silence": True}
        case Cut():
            return {"broke": None}
        case _:
            raise NoCounterpartError(step)


def _as_in_blocks(chunks: list[Json]) -> list[Json]:
    """The chunks with one call after the other, and a refusal as the reason of the end."""
    found = with_calls_together(chunks)
    refuses = any(delta_of(chunk).get("refusal") for chunk in chunks)
    return [_refused(chunk) for chunk in found] if refuses else found


def _refused(chunk: Json) -> Json:
    choices = [
        {**choice, "finish_reason": "content_filter" if choice["finish_reason"] else None}
        for choice in chunk.get("choices", [])
    ]
    return {**chunk, "choices": choices}
