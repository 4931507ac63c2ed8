"""Parses what a client sends over a websocket: `response.create` frames."""

from typing import Any, Final, NamedTuple

from app.parsing.validation import missing, wrong_type
from app.protocol.problems import refuse

NOT_HERE: Final = ("stream", "stream_options", "background")
"""Parameters that only HTTP has. Over a websocket every answer is streamed, and ends when its client disconnects."""
_OURS: Final = ("type", "generate", "previous_response_id", *NOT_HERE)
SEALED: Final = "reasoning.encrypted_content"


class Frame(NamedTuple):
    """One `response.create` frame."""

    body: dict[str, Any]
    """The body that the same request would have over HTTP. Nothing is stored upstream, and reasoning comes with its
    encrypted content, because only the connection stores it."""
    previous_response_id: str | None
    """The response it continues."""
    generate: bool
    """False: the input is only stored, for a turn that continues it."""


def parse_frame(raw: dict[str, Any], *, lenient: bool = False) -> Frame:
    """The frame that `decode_object` has read. Refuses any other frame, and parameters that only HTTP has.

    `lenient` is for clients of the protocol as it was before its release, mainly Codex: they repeat
    `stream` and `stream_options` in each frame.
    """
    if raw.get("type") is None:
        raise missing("type")
    if raw["type"] != "response.create":
        raise refuse("invalid_value", "Invalid value for 'type': this server takes 'response.create' frames.", "type")
    if raw.get("stream_id") is not None:
        message = "'stream_id' is not supported: this server answers the frames of a connection one after the other."
        raise refuse("unsupported_parameter", f"{message} Open another connection.", "stream_id")
    for key in ("background",) if lenient else NOT_HERE:
        if raw.get(key) is not None:
            message = f"'{key}' cannot be sent over a websocket: every answer is streamed, and ends with its client."
            raise refuse("unsupported_parameter", message, key)
    body = {key: value for key, value in raw.items() if key not in _OURS} | {"stream": True, "store": False}
    include = body.get("include") or []
    if isinstance(include, list) and SEALED not in include:
        body["include"] = [*include, SEALED]
    return Frame(body, _previous(raw.get("previous_response_id")), _generate(raw.get("generate")))


def _previous(given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise wrong_type("previous_response_id", "a string", given)


def _generate(given: object) -> bool:
    if given is None or isinstance(given, bool):
        return given is not False
    raise wrong_type("generate", "a boolean", given)
