"""What the `anthropic` package finds wrong with the events and answers of a scripted server, by its own types."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

Json = dict[str, Any]


def event_faults(event: Json) -> list[str]:
    """What is wrong with one event of a stream. The package skips `ping` by its name, and has no type for it."""
    if event == {"type": "ping"}:
        return []
    return _faults(_adapters()["error" if event.get("type") == "error" else "event"], event)


def message_faults(message: Json) -> list[str]:
    """What is wrong with a whole answer."""
    return _faults(_adapters()["message"], message)


def _faults(adapter: TypeAdapter[Any], value: Json) -> list[str]:
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return [
            f"no {value.get('type')} as Anthropic sends it: {'.'.join(map(str, found['loc']))}: {found['msg']}"
            for found in error.errors()
        ]
    return []


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """Made when they are first needed: the package takes a second to import."""
    from anthropic.types import ErrorResponse, Message, RawMessageStreamEvent

    return {
        "event": TypeAdapter(RawMessageStreamEvent),
        "error": TypeAdapter(ErrorResponse),
        "message": TypeAdapter(Message),
    }
