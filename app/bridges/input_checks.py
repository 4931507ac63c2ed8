"""The inputs of custom tools that must have a certain form: what the client is told of those that do not have it.

Regular expressions are checked here, when a call is complete. Lark grammars are checked in another process, so the
code around the turn does it (`turns/grammar_checks.py`).
"""

from typing import Final, Literal, NamedTuple

from ..protocol.warnings import ClientWarning
from .input_patterns import FEATURE, LONGEST_NAME, MOST_WARNINGS, Check, InputPatterns

MOST_INPUTS: Final = 16
"""Inputs of one answer that are held against Lark grammars."""
TOO_MANY: Final = f"was not checked: {MOST_INPUTS} others of this answer were"


class InputForm(NamedTuple):
    """The form that the inputs of a tool must have."""

    syntax: Literal["lark", "regex"]
    definition: str


class LarkInput(NamedTuple):
    """An input that is to be held against a Lark grammar."""

    path: str
    """The path of the grammar in the request."""
    name: str
    grammar: str
    text: str


class InputChecks:
    """The checks of one answer."""

    def __init__(self) -> None:
        self._patterns = InputPatterns()
        self._taken = 0
        self.lark_inputs: list[LarkInput] = []
        """Inputs that wait to be checked."""
        self._told: list[ClientWarning] = []

    @property
    def warnings(self) -> list[ClientWarning]:
        """Inputs that do not have their form, and those that were not checked: one of each for a tool."""
        return [*self._patterns.warnings, *self._told]

    def check(self, path: str, name: str, form: InputForm) -> Check:
        """The check of inputs for this tool, whose grammar is at this path."""
        if form.syntax == "regex":
            return self._patterns.check(path, name, form.definition)

        def check(text: str) -> None:
            self._taken += 1
            each = LarkInput(path, name, form.definition, text)
            if self._taken <= MOST_INPUTS:
                self.lark_inputs.append(each)
            else:
                self.tell(each, TOO_MANY)

        return check

    def tell(self, checked: LarkInput, fault: str) -> None:
        """Notes what is wrong with an input; `fault` is the end of a sentence."""
        details = f"The input of a call of '{checked.name[:LONGEST_NAME]}' {fault}."
        warning = ClientWarning(checked.path, FEATURE, details)
        if len(self._told) < MOST_WARNINGS and warning not in self._told:
            self._told.append(warning)
