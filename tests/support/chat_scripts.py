"""Parts of scripts of a chat server that their translations to other APIs read."""

from itertools import groupby
from typing import Any

from tests.wire.servers import Json


def delta_of(chunk: Json) -> Json:
    """What the chunk adds; empty if it adds nothing."""
    choices: list[Any] = chunk.get("choices") or [{}]
    delta: Json = choices[0].get("delta", {})
    return delta


def with_calls_together(chunks: list[Json]) -> list[Json]:
    """The chunks with the fragments of each call together: other APIs send one call after the other."""
    return [chunk for _, run in groupby(chunks, _is_of_call) for chunk in sorted(run, key=_number)]


def _is_of_call(chunk: Json) -> bool:
    return bool(delta_of(chunk).get("tool_calls"))


def _number(chunk: Json) -> int:
    """The number of the call that this chunk is about."""
    (fragment,) = delta_of(chunk).get("tool_calls") or [{"index": 0}]
    number: int = fragment["index"]
    return number
