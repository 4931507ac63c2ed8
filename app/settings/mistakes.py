"""Mistakes in a configuration: the location and the message of each."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Path = tuple[str | int, ...]
"""The path of a value: `("keys", 0, "sha256")`."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def spelled(path: Path) -> str:
    """A path as it is written in the file: `keys[0].sha256`, `models."gpt-4.1".upstream`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if _BARE_KEY.fullmatch(step) else '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'
            text += f".{name}" if text else name
    return text


class Mistake(NamedTuple):
    """One mistake: where it is (`am-proxy.toml`, `AM_PORT`, `--port`), in which setting, and what is wrong."""

    where: str
    path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(word for word in (self.where, self.path, self.message) if word)


class ConfigMistakesError(Exception):
    """Raised by `load` with every mistake of a configuration. It never holds the value of a secret."""

    def __init__(self, mistakes: Sequence[Mistake], file: str | None = None) -> None:
        """`file` is the file that was read."""
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)
        self.file = file


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` for a word that is similar to a known one, otherwise an empty text."""
    from difflib import get_close_matches  # noqa: PLC0415 — for mistakes alone

    by_small_letters = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_small_letters, n=1, cutoff=0.6)
    return f" (did you mean {by_small_letters[near[0]]}?)" if near else ""
