"""What is not quite HTTP, or too long. Nothing of it is believed, and the connection ends."""

import json

import pytest

from tests.http.abuse.attacked_server import KEY, NOT_HTTP, PROMPT, STRANGER, AttackedServer, Refusal, refusal_of
from tests.support.raw import send_raw

BODY = json.dumps({"model": "direct", "input": PROMPT}).encode()
KEYED = f"Authorization: Bearer {KEY}\r\n".encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + KEYED
LISTED = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + KEYED
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
TOO_LONG = Refusal(431, "headers_too_large")
LENGTH = 100_000
"""More than a head may have."""
FOREIGN = Refusal(421, "host_not_allowed")


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


WIRE: dict[str, tuple[bytes, Refusal]] = {
    "no HTTP": (b"hello there\r\n\r\n", NOT_HTTP),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), NOT_HTTP),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NOT_HTTP),
    "HTTP/3": (LISTED.replace(b"1.1", b"3.0") + b"\r\n", NOT_HTTP),
    "HTTP/0.9": (b"GET /v1/models\r\n\r\n", NOT_HTTP),
    "a method of its own": (LISTED.replace(b"GET", b"BREW") + b"\r\n", NOT_HTTP),
    "a method in small letters": (LISTED.replace(b"GET", b"get") + b"\r\n", NOT_HTTP),
    "CONNECT": (b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", NOT_HTTP),
    "no Host": (b"GET /v1/models HTTP/1.1\r\n" + KEYED + b"\r\n", NOT_HTTP),
    "two Hosts": (LISTED + b"Host: example.com\r\n\r\n", NOT_HTTP),
    "a foreign Host": (LISTED.replace(b"localhost", b"evil.example") + b"\r\n", FOREIGN),
    "an empty Host": (LISTED.replace(b"localhost", b"") + b"\r\n", FOREIGN),
    "a Host that is none": (LISTED.replace(b"localhost", b"[::1") + b"\r\n", FOREIGN),
    "two lengths": (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + BODY, NOT_HTTP),
    "the same length twice": (HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n" + BODY, NOT_HTTP),
    "a length and chunks": (HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED, NOT_HTTP),
    "chunks and a length": (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + SMUGGLED, NOT_HTTP),
    "chunks twice": (HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", NOT_HTTP),
    "nearly chunks": (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", NOT_HTTP),
    "another encoding": (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", NOT_HTTP),
    "another encoding before chunks": (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(BODY), NOT_HTTP),
    "identity before chunks": (HEAD + b"Transfer-Encoding: identity, chunked\r\n\r\n" + chunked(BODY), NOT_HTTP),
    "unknown encodings before chunks": (HEAD + b"Transfer-Encoding: x, y, chunked\r\n\r\n" + chunked(BODY), NOT_HTTP),
    "another encoding in a header of its own": (
        HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY),
        NOT_HTTP,
    ),
    "an empty encoding before chunks": (
        HEAD + b"Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY),
        NOT_HTTP,
    ),
    "chunks in HTTP/1.0": (
        HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY),
        NOT_HTTP,
    ),
    "a negative length": (HEAD + b"Content-Length: -5\r\n\r\n", NOT_HTTP),
    "a length with a sign": (HEAD + b"Content-Length: +5\r\n\r\n", NOT_HTTP),
    "a length in hexadecimal": (HEAD + b"Content-Length: 0x5\r\n\r\n", NOT_HTTP),
    "a length beyond numbers": (HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", NOT_HTTP),
    "a length beyond the limit": (HEAD + b"Content-Length: 65537\r\n\r\n", Refusal(413, "request_too_large")),
    "chunks beyond the limit": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(*[b" " * 9000] * 8),
        Refusal(413, "request_too_large"),
    ),
    "a chunk that is none": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", NOT_HTTP),
    "a chunk too long": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", NOT_HTTP),
    "a folded header": (LISTED + b"X-A: b\r\n c\r\n\r\n", NOT_HTTP),
    "a space before a colon": (LISTED + b"X-A : b\r\n\r\n", NOT_HTTP),
    "a header without a colon": (LISTED + b"X-A\r\n\r\n", NOT_HTTP),
    "a header without a name": (LISTED + b": b\r\n\r\n", NOT_HTTP),
    "a NUL in a header": (LISTED + b"X-A: b\0c\r\n\r\n", NOT_HTTP),
    "bare line ends": (LISTED.replace(b"\r\n", b"\n") + b"\n", NOT_HTTP),
    "a line end of its own kind": (LISTED + b"X-A: b\rX-B: c\r\n\r\n", NOT_HTTP),
    "a path in another alphabet": (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", NOT_HTTP),
    "a path with a space": (b"GET /v1/models x HTTP/1.1\r\nHost: localhost\r\n\r\n", NOT_HTTP),
    "a long header": (LISTED + b"X-A: " + b"a" * LENGTH + b"\r\n\r\n", TOO_LONG),
    "a header without end": (LISTED + b"X-A: " + b"a" * LENGTH, TOO_LONG),
    "many headers": (LISTED + b"X-A: b\r\n" * (LENGTH // 8) + b"\r\n", TOO_LONG),
    "a long path": (b"GET /" + b"a" * LENGTH + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", TOO_LONG),
    "line ends for ever": (b"\r\n" * (LENGTH // 2), TOO_LONG),
    "a key in a trailer": (
        HEAD.replace(KEYED, b"Transfer-Encoding: chunked\r\n\r\n") + chunked(BODY, end=b"0\r\n" + KEYED + b"\r\n"),
        STRANGER,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "wanted"), WIRE.values(), ids=WIRE)
def test_what_is_not_quite_http_is_not_believed(attacked: AttackedServer, data: bytes, wanted: Refusal) -> None:
    """The connection ends: by itself, or because HTTP that is understood says so."""
    if wanted not in {NOT_HTTP, TOO_LONG}:
        data = data.replace(b"Host: ", b"Connection: close\r\nHost: ", 1)
    with attacked.watched():
        reply = send_raw(attacked.url, data)
        assert refusal_of(reply) == wanted
        assert (reply.answers, reply.closed) == (1, True)


def test_what_hides_in_a_refused_body_is_not_answered(attacked: AttackedServer) -> None:
    """A second request inside of a body that nobody reads; the one behind the body is answered."""
    with attacked.watched():
        hidden = LISTED + b"\r\n"
        stranger = HEAD.replace(KEYED, b"") + b"Content-Length: %d\r\n\r\n" % len(hidden) + hidden
        reply = send_raw(attacked.url, stranger, SMUGGLED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert refusal_of(reply) == STRANGER
        assert (reply.answers, reply.closed) == (2, True)
