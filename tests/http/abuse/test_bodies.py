"""What is no JSON, no request, or not one that could be served: refused by its path, over every lane alike."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.http.abuse.attacked_server import BEARER, LANES, NOT_JSON, PROMPT, AttackedServer, Refusal, refusal_of
from tests.support.bad_bodies import BODIES
from tests.wire.encodings import packed

JSON = {"content-type": "application/json"}
NOT_JSON_TYPE = Refusal(415, "unsupported_media_type")
NOT_ENCODED_SO = Refusal(415, "unsupported_encoding")
NOT_DECODED = Refusal(400, "invalid_encoding")
TOO_LARGE = Refusal(413, "request_too_large")
BLANKS = b" " * 1_000_000
FIELDS = f'"model": "direct", "input": "{PROMPT}"'.encode()

RAW: dict[str, tuple[bytes | Callable[[], bytes], dict[str, str], Refusal]] = {
    "nothing": (b"", JSON, NOT_JSON),
    "white space": (b" \n\t ", JSON, NOT_JSON),
    "Python": (b"{'model': None}", JSON, NOT_JSON),
    "half": (b'{"model": "direct", "input": "' + PROMPT.encode(), JSON, NOT_JSON),
    "two": (b"{}{}", JSON, NOT_JSON),
    "a comma too many": (b"{" + FIELDS + b",}", JSON, NOT_JSON),
    "a comment": (b"{" + FIELDS + b"} // " + PROMPT.encode(), JSON, NOT_JSON),
    "NaN": (b"{" + FIELDS + b', "temperature": NaN}', JSON, NOT_JSON),
    "Infinity": (b"{" + FIELDS + b', "top_p": -Infinity}', JSON, NOT_JSON),
    "not UTF-8": (b'{"model": "direct", "input": "\xff\xfe"}', JSON, NOT_JSON),
    "UTF-16": (b"{" + FIELDS + b"}".decode().encode("utf-16"), JSON, NOT_JSON),
    "a mark before it": (b"\xef\xbb\xbf{" + FIELDS + b"}", JSON, NOT_JSON),
    "a control character in a text": (b'{"model": "direct", "input": "a\x01b"}', JSON, NOT_JSON),
    "an array": (b"[]", JSON, Refusal(400, "invalid_type", "body")),
    "a text": (b'"' + PROMPT.encode() + b'"', JSON, Refusal(400, "invalid_type", "body")),
    "a number": (b"1", JSON, Refusal(400, "invalid_type", "body")),
    "null": (b"null", JSON, Refusal(400, "invalid_type", "body")),
    "true": (b"true", JSON, Refusal(400, "invalid_type", "body")),
    "200 levels": (b'{"a":' * 200 + b"1" + b"}" * 200, JSON, NOT_JSON),
    "30,000 arrays": (b"[" * 30_000, JSON, NOT_JSON),
    "10,000 objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, JSON, NOT_JSON),
    "a huge number": (b"{" + FIELDS + b', "temperature": 1e999}', JSON, NOT_JSON),
    "a number of 5,000 digits": (b"{" + FIELDS + b', "max_output_tokens": ' + b"9" * 5000 + b"}", JSON, NOT_JSON),
    "a form": (b"model=direct", {"content-type": "application/x-www-form-urlencoded"}, NOT_JSON_TYPE),
    "plain text": (b"{" + FIELDS + b"}", {"content-type": "text/plain"}, NOT_JSON_TYPE),
    "a multipart form": (b"--x--", {"content-type": "multipart/form-data; boundary=x"}, NOT_JSON_TYPE),
    "JSON in name only": (b"{" + FIELDS + b"}", {"content-type": "text/json-ish"}, NOT_JSON_TYPE),
    "two types": (b"{" + FIELDS + b"}", {"content-type": "text/plain, application/json"}, NOT_JSON_TYPE),
    "no type": (b"{" + FIELDS + b"}", {}, NOT_JSON_TYPE),
    "gzip in name only": (b"{" + FIELDS + b"}", {**JSON, "content-encoding": "gzip"}, NOT_DECODED),
    "zstd in name only": (b"{" + FIELDS + b"}", {**JSON, "content-encoding": "zstd"}, NOT_DECODED),
    "a bomb of gzip": (lambda: packed("gzip", BLANKS * 50), {**JSON, "content-encoding": "gzip"}, TOO_LARGE),
    "a bomb of zstd": (lambda: packed("zstd", BLANKS * 50), {**JSON, "content-encoding": "zstd"}, TOO_LARGE),
    "two encodings": (b"{" + FIELDS + b"}", {**JSON, "content-encoding": "zstd, gzip"}, NOT_ENCODED_SO),
    "an unknown encoding": (b"{" + FIELDS + b"}", {**JSON, "content-encoding": "br"}, NOT_ENCODED_SO),
    "too large": (b" " * 65_537, JSON, TOO_LARGE),
}


@pytest.mark.parametrize(("content", "headers", "wanted"), RAW.values(), ids=RAW)
def test_what_is_no_request_goes_no_further(
    attacked: AttackedServer, content: bytes | Callable[[], bytes], headers: dict[str, str], wanted: Refusal
) -> None:
    body = content() if callable(content) else content
    with attacked.watched():
        assert refusal_of(attacked.client.post("/v1/responses", content=body, headers=BEARER | headers)) == wanted


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(("fields", "code", "param"), BODIES, ids=[f"{n} {case[2]}" for n, case in enumerate(BODIES)])
def test_a_fault_in_a_field_is_named_and_no_upstream_hears_of_it(
    attacked: AttackedServer, fields: dict[str, Any], code: str, param: str, lane: str
) -> None:
    with attacked.watched():
        assert refusal_of(attacked.post({"model": lane, **fields})) == Refusal(400, code, param)
