"""Holds the inputs of custom tools against the regular expressions that their clients gave.

The engine is pydantic's (Rust's `regex`), which needs at most the size of the compiled expression times the length of
the input. It compiles nothing above 10 MiB, but has no setting for less. So to know that an expression is small enough
for a long input, many copies of it are compiled. It holds Python's lock meanwhile: a thread of its own would not help.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from pydantic_core import SchemaError, SchemaValidator, core_schema

LONGEST_PATTERN: Final = 1_000
"""Characters of a regular expression that is compiled. Long lists of Unicode classes take long to read."""
MOST_PATTERNS: Final = 4
"""Regular expressions that are compiled in one answer."""
FEWEST_COPIES: Final = 2
"""Copies of an expression that must fit into 10 MiB, however short the input is."""
PER_COPY: Final = 100
"""Characters of an input for each copy that must fit."""
ALL_PER_COPY: Final = 500
"""Characters of all inputs in an answer for each copy that must fit."""
MOST_WARNINGS: Final = 20
LONGEST_NAME: Final = 64
SYNTAX: Final = "Rust's syntax, without look-around and backreferences; not too large"
FEATURE: Final = "input format"

Check = Callable[[str], None]
"""Takes the input of a finished call."""


class InputFault(NamedTuple):
    """What is wrong with an input, as the end of a sentence about it."""

    words: str
    is_mismatch: bool
    """Whether it does not match; otherwise it was not checked."""


class _UncheckedError(Exception):
    """Why an input is not checked."""


class InputPatterns:
    """The regular expressions of one turn's tools. Each is compiled when its tool is called."""

    def __init__(self) -> None:
        self._compiled: dict[str, SchemaValidator | None] = {}
        """None: it cannot be compiled."""
        self._fitting: dict[str, int] = {}
        """How many copies of each expression are known to fit; 0 once they did not."""
        self._characters = 0
        """Of the inputs that were checked."""

    def fault(self, pattern: str, text: str) -> InputFault | None:
        """What is wrong with this input, if anything."""
        try:
            matches = self._engine_for(pattern, text).isinstance_python(text)
        except _UncheckedError as error:
            return InputFault(f"was not checked: {error}", is_mismatch=False)
        return None if matches else InputFault("does not match the regular expression of the tool", is_mismatch=True)

    def _engine_for(self, pattern: str, text: str) -> SchemaValidator:
        if len(pattern) > LONGEST_PATTERN:
            raise _UncheckedError(f"its regular expression has more than {LONGEST_PATTERN:,} characters")
        if pattern not in self._compiled:
            if len(self._compiled) >= MOST_PATTERNS:
                raise _UncheckedError(
                    f"the regular expressions of {MOST_PATTERNS} other tools were compiled for this answer"
                )
            self._compiled[pattern] = _compiled(pattern)
        if (engine := self._compiled[pattern]) is None:
            raise _UncheckedError(f"its regular expression cannot be compiled ({SYNTAX})")
        characters = self._characters + len(text)
        if not self._fits(pattern, _power_of_ten(max(len(text) // PER_COPY, characters // ALL_PER_COPY))):
            raise _UncheckedError("its regular expression is too large for inputs of this length")
        self._characters = characters
        return engine

    def _fits(self, pattern: str, copies: int) -> bool:
        """Whether as many copies of the expression can be compiled. Not tried again for one that was too large."""
        known = self._fitting.get(pattern, FEWEST_COPIES)
        if known and known < copies:
            known = self._fitting[pattern] = copies if _can_be_compiled(_copies(pattern, copies)) else 0
        return known >= copies


def _compiled(pattern: str) -> SchemaValidator | None:
    """The expression for a whole input, if there is one. Alone it must be one, too: `a)|(b` is not."""
    try:
        _engine(_copies(pattern, FEWEST_COPIES))
        _engine(pattern)
        return _engine(rf"\A(?:{pattern})\z")
    except SchemaError:
        return None


def _can_be_compiled(pattern: str) -> bool:
    try:
        _engine(pattern)
    except SchemaError:
        return False
    return True


def _copies(pattern: str, copies: int) -> str:
    return f"(?:{pattern}){{{copies}}}"


def _engine(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _power_of_ten(least: int) -> int:
    """The first one that is not below: then inputs of similar lengths are tried once."""
    return 10 ** len(str(least - 1)) if least > 1 else 1
