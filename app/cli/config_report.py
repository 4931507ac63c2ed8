"""What a command says about the configuration as a whole: its verdict, or the mistakes in it."""

import shutil
import sys
import textwrap
from typing import Final

from ..key_search import redacted_line
from ..settings import ConfigMistakesError, Settings
from .style import colour_wanted, harmless, painted

_MOST: Final = 200
"""Mistakes that are printed; a file that is something else can have thousands."""
_ELSEWHERE: Final = 120
"""Columns where there is no terminal."""


def verdict(settings: Settings) -> str:
    """`am-proxy.toml is valid: 1 upstream, 2 models, no keys`."""
    counted = ((settings.upstreams, "upstream"), (settings.models, "model"), (settings.keys, "key"))
    return f"{settings.file or 'the configuration'} is valid: " + ", ".join(
        _counted(len(things), word) for things, word in counted
    )


def print_mistakes(error: ConfigMistakesError) -> None:
    """Print every mistake, and how many there are, on stderr."""
    colour = colour_wanted(sys.stderr)
    columns = shutil.get_terminal_size((_ELSEWHERE, 24)).columns - 1
    for mistake in error.mistakes[:_MOST]:
        location = harmless(mistake.where)
        text = f"{location}: {harmless(redacted_line(': '.join(filter(None, (mistake.path, mistake.message)))))}"
        if sys.stderr.isatty():
            text = textwrap.fill(text, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        start = len(location) if text.startswith(location) else 0
        print(painted(text[:start], "bold", colour=colour) + text[start:], file=sys.stderr)
    if len(error.mistakes) > _MOST:
        print(f"… and {_counted(len(error.mistakes) - _MOST, 'other')}", file=sys.stderr)
    in_file = error.file and all(mistake.where == error.file for mistake in error.mistakes)
    summary = f"{_counted(len(error.mistakes), 'error')} in {error.file if in_file else 'the configuration'}"
    print(painted(summary, "bold", "red", colour=colour), file=sys.stderr)


def _counted(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
