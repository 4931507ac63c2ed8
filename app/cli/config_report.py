"""What a command says about the configuration as a whole: its verdict, or the mistakes in it."""

import sys

from ..settings import ConfigMistakesError, Settings


def verdict(settings: Settings) -> str:
    """`am-proxy.toml is valid: 1 upstream, 2 models, no keys`."""
    counted = ((settings.upstreams, "upstream"), (settings.models, "model"), (settings.keys, "key"))
    return f"{settings.file or 'the configuration'} is valid: " + ", ".join(
        _counted(len(things), word) for things, word in counted
    )


def print_mistakes(error: ConfigMistakesError) -> None:
    """Print every mistake, and how many there are, on stderr."""
    for mistake in error.mistakes:
        print(mistake, file=sys.stderr)
    in_file = error.file and all(mistake.where.startswith(error.file) for mistake in error.mistakes)
    place = error.file if in_file else "the configuration"
    print(f"{_counted(len(error.mistakes), 'error')} in {place}", file=sys.stderr)


def _counted(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
