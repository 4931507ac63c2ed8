"""Refusals of requests that the application never sees: what is wrong with a head, and the bytes of the answer."""

from collections.abc import Sequence
from typing import Final

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ..protocol.problems import Problem

RETRY: Final = 2
"""Seconds after which a client whose connection was refused should try again."""

BAD: Final = Problem(code="invalid_http", message="This is not a request in HTTP/1.1.")
NO_OFFER: Final = Problem(code="invalid_http", message="This is not an offer of a websocket, version 13.")
ENCODED: Final = Problem(
    code="invalid_http", message="The only Transfer-Encoding that this server decodes is `chunked`, in HTTP/1.1."
)
NO_HOST: Final = Problem(code="invalid_http", message="A request needs one Host header, and no more than one.")


def too_long(most: int) -> Problem:
    """The problem of a head with more bytes than that."""
    message = f"The headers are longer than the {most} bytes this server reads."
    return Problem(code="headers_too_large", message=message)


def too_slow(seconds: float) -> Problem:
    """The problem of a head that took longer than that."""
    return Problem(code="request_timeout", message=f"The headers took longer than {seconds:g} seconds.")


def no_room(message: str) -> Problem:
    """The problem of a connection for which there is no room."""
    return Problem(code="overloaded", message=message, retry_after=RETRY)


def fault_of(url: bytes, headers: Sequence[tuple[bytes, bytes]], version: str, most: int) -> Problem | None:
    """What is wrong with a complete head, of which `most` bytes are allowed."""
    size, hosts, encodings = len(url), 0, []
    for name, value in headers:
        size += len(name) + len(value) + 4
        hosts += name == b"host"
        if name == b"transfer-encoding":
            encodings.append(value.lower())
    if size > most:
        return too_long(most)
    if hosts > 1 or (not hosts and version == "1.1"):
        return NO_HOST
    if version not in {"1.0", "1.1"}:
        return BAD
    if encodings and (encodings != [b"chunked"] or version != "1.1"):
        return ENCODED  # the parser reads chunks whatever precedes that word
    return None


def raw_refusal(problem: Problem, request_id: str) -> bytes:
    """The whole response, after which the connection is closed."""
    body = msgspec.json.encode(problem.body())
    later = b"" if problem.retry_after is None else b"retry-after: %d\r\n" % problem.retry_after
    return (
        STATUS_LINE[problem.shape.status]
        + b"content-type: application/json\r\nconnection: close\r\nopenai-processing-ms: 0\r\n"
        + later
        + b"x-request-id: %s\r\ncontent-length: %d\r\n\r\n" % (request_id.encode(), len(body))
        + body
    )
