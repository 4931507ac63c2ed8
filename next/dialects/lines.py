"""Splits the bytes of a stream into lines, as the standard of server-sent events defines them."""

LONGEST = 32 * 1024 * 1024
"""Bytes of one line. The largest that is known, a picture in base64, is far below."""
_BOM = b"\xef\xbb\xbf"


class TooLongError(Exception):
    """A line is longer than any model's server has reason to send."""


class Lines:
    """Bytes in, whole lines out, without their ends: LF, CR LF or CR. Nothing depends on where the bytes were cut."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in this piece."""
        if self._after_cr and data[:1] == b"\n":  # a CR LF that was cut in two
            data = data[1:]
            self._after_cr = False
        self._begun += data
        if self._at_start:
            if len(self._begun) < len(_BOM) and _BOM.startswith(self._begun):
                return []
            self._at_start = False
            if self._begun.startswith(_BOM):
                del self._begun[: len(_BOM)]
        if b"\n" not in data and b"\r" not in data:
            self._after_cr = self._after_cr and not data
            if len(self._begun) > LONGEST:
                raise TooLongError
            return []
        text = bytes(self._begun)
        self._after_cr = text[-1:] == b"\r"
        lines = text.splitlines()
        self._begun = bytearray(b"" if text[-1:] in b"\r\n" else lines.pop())
        return lines

    def rest(self) -> bytes:
        """What follows the last line end, when nothing more comes."""
        return bytes(self._begun)
