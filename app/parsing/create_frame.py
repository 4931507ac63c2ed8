"""Parses what a client sends over a websocket: `response.create` frames."""

from typing import Any, Final, NamedTuple

from ..protocol.problems import refuse
from ..protocol.request.create_response import ENCRYPTED_REASONING
from .validation import wrong_type

ONLY_HTTP: Final = ("stream", "stream_options", "background")
"""Parameters that only HTTP has. Over a websocket every answer is streamed, and ends when its client disconnects."""
_FRAME_MEMBERS: Final = ("type", "stream_id", "previous_response_id", *ONLY_HTTP)


class Frame(NamedTuple):
    """One `response.create` frame."""

    body: dict[str, Any]
    """The body that the same request would have over HTTP. Nothing is stored upstream, and reasoning comes with its
    encrypted content, because only the connection stores it."""
    previous_response_id: str | None
    """The response it continues."""


def parse_frame(raw: dict[str, Any], *, lenient: bool = False) -> Frame:
    """The frame that `decode_object` has read. Refuses parameters that only HTTP has.

    `lenient` is for clients of the protocol as it was before its release, mainly Codex: they repeat
    `stream` and `stream_options` in each frame.
    """
    for key in ("background",) if lenient else ONLY_HTTP:
        if raw.get(key) is not None:
            message = f"'{key}' cannot be sent over a websocket: every answer is streamed, and ends with its client."
            raise refuse("unsupported_parameter", message, key)
    body = {key: value for key, value in raw.items() if key not in _FRAME_MEMBERS} | {"stream": True, "store": False}
    include = body.get("include") or []
    if isinstance(include, list) and ENCRYPTED_REASONING not in include:
        body["include"] = [*include, ENCRYPTED_REASONING]
    previous = raw.get("previous_response_id")
    if previous is not None and not isinstance(previous, str):
        raise wrong_type("previous_response_id", "a string", previous)
    return Frame(body, previous)
