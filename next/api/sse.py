"""Events -> bytes, and the two ways in which a response reaches a client over HTTP."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.types import Receive, Send

from ..types.events import Event, LastEvent
from ..types.json import encode
from ..types.problems import Problem, Warning

DONE = b"data: [DONE]\n\n"
"""The end of a stream. The specification requires it; every client ignores it."""
_LINE_ENDS = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)
"""Common clients split lines at these characters, inside JSON too."""
_MOST = 15
"""Warnings in a header, of which clients read 8 kB in all."""
_LONGEST = 250
_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


def frames(events: Sequence[Event], warnings: Sequence[Warning] = ()) -> bytes:
    """Events as one string of bytes, with these warnings in the last. LF only: some clients fail at CR LF."""
    text = b""
    for event in events:
        text += b"event: %b\ndata: %b\n\n" % (str(event.__struct_config__.tag).encode(), encode(event))
    if warnings:
        added = b',"x_am_warnings":' + encode([warning.details for warning in warnings])
        text = text[:-3] + added + b"}\n\n"
    if text.isascii():  # a search for each of them takes ten times as long
        return text
    for raw, escaped in _LINE_ENDS:
        text = text.replace(raw, escaped)
    return text


def warned(warnings: Sequence[Warning]) -> list[tuple[bytes, bytes]]:
    """The header with these warnings, if there are any: ASCII, and no longer than clients read."""
    if not warnings:
        return []
    told = [warning.details[:_LONGEST] for warning in warnings[:_MOST]]
    if len(warnings) > _MOST:
        told.append(f"{len(warnings) - _MOST} more were left out here.")
    return [(b"x-am-warnings", json.dumps(told).encode())]


async def answer(send: Send, status: int, body: Any, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A whole answer of JSON."""
    data = body if isinstance(body, bytes) else encode(body)
    sent = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": data})


async def answer_problem(send: Send, problem: Problem, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """The problem as an HTTP error."""
    wait = [] if problem.retry_after is None else [(b"retry-after", str(problem.retry_after).encode())]
    await answer(send, problem.status, problem.body(), [*wait, *headers])


class _Client:
    """A client over HTTP."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def send(self, data: bytes) -> None:
        """A piece of the answer, and not the last."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def refuse(self, problem: Problem) -> None:
        """An HTTP error."""
        await answer_problem(self._send, problem)

    async def left(self) -> None:
        """Return when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class StreamClient(_Client):
    """A client that gets events as they come."""

    streams = True
    encode = staticmethod(frames)

    async def start(self, warnings: Sequence[Warning]) -> None:
        """The status line."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *warned(warnings)]})

    async def finish(self, data: bytes, _warnings: Sequence[Warning]) -> None:
        """The last piece, with its warnings in it."""
        await self._send({"type": "http.response.body", "body": data + DONE, "more_body": False})


class WholeClient(_Client):
    """A client that gets the response at the end."""

    streams = False
    _warnings: Sequence[Warning] = ()

    async def start(self, warnings: Sequence[Warning]) -> None:
        """The status line comes with the answer."""
        self._warnings = warnings

    def encode(self, events: Sequence[Event], warnings: Sequence[Warning] = ()) -> bytes:
        """The response in the last of these events; its warnings are in the header."""
        last = events[-1]
        return encode(last.response) if isinstance(last, LastEvent) else b""

    async def finish(self, data: bytes, warnings: Sequence[Warning]) -> None:
        """The response."""
        await answer(self._send, 200, data, warned([*self._warnings, *warnings]))
