"""The decoder of encoded bodies: what it decodes, and the faults that it names."""

import zlib
from typing import Final

import pytest

from app.transports.content_encoding import MOST_FRAMES, WINDOW_LOG
from tests.support.decoding import decoded, fault
from tests.wire.encodings import SKIPPED, packed, with_window

TEXT: Final = bytes(range(256)) * 40
ZEROS: Final = bytes(3 * 1024 * 1024)
NAMED: Final = b"\x1f\x8b\x08\x08\0\0\0\0\0\xffname\0" + packed("gzip", TEXT)[10:]
EARLY: Final = "ends too early."
FRAMES: Final = {
    "one frame of gzip": ("gzip", packed("gzip", TEXT), TEXT),
    "one frame of zstd": ("zstd", packed("zstd", TEXT), TEXT),
    "the old name of gzip": ("x-gzip", packed("gzip", TEXT), TEXT),
    "a file's name": ("gzip", NAMED, TEXT),
    "nothing in gzip": ("gzip", packed("gzip", b""), b""),
    "nothing in zstd": ("zstd", packed("zstd", b""), b""),
    "two frames of gzip": ("gzip", packed("gzip", TEXT) + packed("gzip", b"more"), TEXT + b"more"),
    "two frames of zstd": ("zstd", packed("zstd", TEXT) + packed("zstd", b"more"), TEXT + b"more"),
    "a frame that is skipped": ("zstd", SKIPPED + packed("zstd", TEXT) + SKIPPED, TEXT),
    "as many frames as there may be": ("zstd", packed("zstd", b"x") * MOST_FRAMES, b"x" * MOST_FRAMES),
    "much of the same in gzip": ("gzip", packed("gzip", ZEROS), ZEROS),
    "much of the same in zstd": ("zstd", packed("zstd", ZEROS), ZEROS),
    "the largest window": ("zstd", with_window(TEXT, WINDOW_LOG), TEXT),
}
INVALID: Final = "is not valid in that format."
BEHIND: Final = " Its fault is behind the end of part 1."
FAULTS: Final = {
    "no byte of gzip": ("gzip", b"", EARLY),
    "no byte of zstd": ("zstd", b"", EARLY),
    "no gzip": ("gzip", b'{"model": "demo"}', INVALID),
    "no zstd": ("zstd", b'{"model": "demo"}', INVALID),
    "zstd as gzip": ("gzip", packed("zstd", TEXT), INVALID),
    "gzip as zstd": ("zstd", packed("gzip", TEXT), INVALID),
    "deflate as gzip": ("gzip", zlib.compress(TEXT), INVALID),
    "half of gzip": ("gzip", packed("gzip", TEXT)[:40], EARLY),
    "half of zstd": ("zstd", packed("zstd", TEXT)[:40], EARLY),
    "gzip without its last byte": ("gzip", packed("gzip", TEXT)[:-1], EARLY),
    "zstd without its last byte": ("zstd", packed("zstd", TEXT)[:-1], EARLY),
    "garbage behind gzip": ("gzip", packed("gzip", TEXT) + b"garbage", INVALID + BEHIND),
    "garbage behind zstd": ("zstd", packed("zstd", TEXT) + b"garbage", INVALID + BEHIND),
    "half a frame of gzip behind one": ("gzip", packed("gzip", TEXT) + packed("gzip", TEXT)[:15], EARLY + BEHIND),
    "half a frame of zstd behind one": ("zstd", packed("zstd", TEXT) + packed("zstd", TEXT)[:15], EARLY + BEHIND),
    "zeros behind gzip": ("gzip", packed("gzip", TEXT) + bytes(512), INVALID + BEHIND),
    "a wrong checksum of gzip": ("gzip", packed("gzip", TEXT)[:-8] + bytes(8), INVALID),
    "a wrong checksum of zstd": ("zstd", packed("zstd", TEXT)[:-4] + bytes(4), INVALID),
    "a larger window": ("zstd", with_window(TEXT, WINDOW_LOG + 1), INVALID),
    "a far larger window": ("zstd", with_window(TEXT, 27), INVALID),
    "too many frames of gzip": (
        "gzip",
        packed("gzip", b"") * (MOST_FRAMES + 1),
        "has more than 1024 parts that are compressed separately. Its fault is behind the end of part 1024.",
    ),
    "too many frames of zstd": (
        "zstd",
        SKIPPED * (MOST_FRAMES + 1),
        "has more than 1024 parts that are compressed separately. Its fault is behind the end of part 1024.",
    ),
}


@pytest.mark.parametrize(("encoding", "data", "wanted"), FRAMES.values(), ids=FRAMES)
def test_what_is_decoded(encoding: str, data: bytes, wanted: bytes) -> None:
    assert decoded(encoding, data) == wanted


@pytest.mark.parametrize(("encoding", "data", "wanted"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_decoded(encoding: str, data: bytes, wanted: str) -> None:
    assert fault(encoding, data) == wanted
