"""Bytes are what they begin with."""

from base64 import b64encode

import pytest

from app.fetching.media_types import image_fault, is_text, sniffed, sniffed_base64


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF87a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"AAAA\x00\x00\x00\x00WEBPVP8 ", None),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"%PDF-1.7", "application/pdf"),
        (b"<html>", None),
        (b"\x89PN", None),
        (b"", None),
    ],
)
def test_a_kind_is_known_by_its_mark(data: bytes, kind: str | None) -> None:
    assert sniffed(data) == kind
    assert sniffed_base64(b64encode(data).decode()) == kind
    assert sniffed_base64(b64encode(data + bytes(90)).decode()) == kind


@pytest.mark.parametrize("data", ["?", "\u00e9", "A", "%%%%"])
def test_what_is_no_base64_is_of_no_kind(data: str) -> None:
    assert sniffed_base64(data) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a,b\r\n1,2\n", True), ("Öl\t€".encode(), True), (b"\xff\xfe", False), (b"a\x00", False), (b"", False)],
)
def test_text_is_utf_8_without_control_characters(data: bytes, text: bool) -> None:  # noqa: FBT001 — a row of the table
    assert is_text(data) is text


@pytest.mark.parametrize(
    ("begins", "known"),
    [
        (b"\x89PNG\r\n\x1a\n", True),
        (b"\xff\xd8\xff\xe0", True),
        (b"GIF89a", True),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", True),
        (b"BM\x00\x00", True),
        (b"II*\x00", True),
        (b"MM\x00*", True),
        (b"\x00\x00\x00\x20ftypavif", True),
        (b"%PDF-1.7", False),
        (b"<svg xmlns=", False),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", False),
    ],
)
def test_an_image_is_known_by_its_mark(begins: bytes, known: bool) -> None:  # noqa: FBT001 — a row of the table
    for data in (begins, begins + bytes(3000)):
        text = b64encode(data).decode()
        broken = "\n".join(text[at : at + 76] for at in range(0, len(text), 76))
        assert {image_fault(f"data:image/png;base64,{each}") is None for each in (text, broken)} == {known}


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) + b"\xff"


@pytest.mark.parametrize("end", ["\n", "\r\n", " ", "\t\r\n"])
@pytest.mark.parametrize("width", [1, 3, 57, 60, 61, 63, 64, 65, 72, 76])
@pytest.mark.parametrize("extra", [0, 1, 2])
def test_base64_may_have_line_ends_anywhere(width: int, end: str, extra: int) -> None:
    """Ruby writes 60 characters on a line, MIME 76, PEM 64; a template may begin with a line end of its own."""
    text = b64encode(PNG + bytes(extra)).decode()
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    for data in (end.join(lines), end + end.join(lines), end.join(lines) + end, end * 40 + end.join(lines) + end * 3):
        assert (image_fault(f"data:image/png;base64,{data}"), sniffed_base64(data)) == (None, "image/png")


def test_white_space_alone_is_no_image() -> None:
    assert image_fault("data:image/png;base64," + "\n" * 3000) == "its data is not base64"
    assert sniffed_base64("\n" * 3000) is None


@pytest.mark.parametrize(
    "data", ["", "?", "\u00e9", "iVBORw0KGgo=!", "iVBORw0KGgo=iVBORw0KGgo=", "%69VBORw0KGgo=", "iVBO_-8="]
)
def test_an_image_that_is_not_base64_is_none(data: str) -> None:
    assert image_fault(f"data:image/png;base64,{data}") == "its data is not base64"
