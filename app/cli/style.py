"""Text for a terminal: colours, when they are wanted, and no characters that it would obey."""

import os
from collections.abc import Mapping
from typing import Final, Literal, TextIO

Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "cyan"]

_CODES: Final[Mapping[Style, int]] = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "cyan": 36,
}


def colour_wanted(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether text on this stream is coloured: on a terminal, unless the environment says otherwise.

    `NO_COLOR` turns it off, `FORCE_COLOR` turns it on elsewhere too, and a terminal of the kind `dumb` shows none.
    The first of them that is set counts.
    """
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return stream.isatty() and environ.get("TERM") != "dumb"


def plain(text: str) -> str:
    """The text in one line, without characters that a terminal would obey."""
    return harmless(" ".join(text.split()))


def harmless(line: str) -> str:
    """The line with `?` for characters that a terminal would obey."""
    return line if line.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in line)


def painted(text: str, *styles: Style, colour: bool = True) -> str:
    """The text in these styles; unchanged if it is empty, or without `colour`."""
    if not colour or not text or not styles:
        return text
    return f"\x1b[{';'.join(str(_CODES[style]) for style in styles)}m{text}\x1b[0m"
