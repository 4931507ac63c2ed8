"""Decodes an encoded body as the server does, or names its fault."""

import pytest

from app.protocol.problems import ProblemError
from app.transports.content_encoding import STEP, BodyDecoder


def decoded(encoding: str, data: bytes) -> bytes:
    decoder = BodyDecoder(encoding, bytearray(data))
    result = b""
    while not decoder.is_complete:
        step = decoder.step()
        assert len(step) <= STEP
        result += step
    return result


def fault(encoding: str, data: bytes) -> str:
    with pytest.raises(ProblemError) as caught:
        decoded(encoding, data)
    assert caught.value.problem.code == "invalid_encoding"
    prefix = f"The body has `Content-Encoding: {encoding}`, but it "
    assert caught.value.problem.message.startswith(prefix)
    return caught.value.problem.message.removeprefix(prefix)
