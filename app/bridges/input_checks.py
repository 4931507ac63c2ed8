"""The inputs of custom tools that must have a certain form: what the client is told of those that do not have it.

Regular expressions are checked here, when a call is complete. Lark grammars are checked in another process, so the
code around the turn does it (`turns/grammar_checks.py`).
"""

from typing import Final, Literal, NamedTuple

from ..protocol.warnings import ClientWarning
from .input_patterns import FEATURE, LONGEST_NAME, MOST_WARNINGS, Check, InputFault, InputPatterns

MOST_INPUTS: Final = 16
"""Inputs of one answer that are held against Lark grammars."""
TOO_MANY: Final = InputFault(f"was not checked: {MOST_INPUTS} others of this answer were", is_mismatch=False)


class InputForm(NamedTuple):
    """The form that the inputs of a tool must have."""

    syntax: Literal["lark", "regex"]
    definition: str


class CallInput(NamedTuple):
    """The input of a call that must have a certain form."""

    path: str
    """The path of the form in the request."""
    name: str
    form: InputForm
    text: str


class InputChecks:
    """The checks of one answer."""

    def __init__(self) -> None:
        self.has_lark = False
        """Whether the inputs of any tool are held against a Lark grammar."""
        self._patterns = InputPatterns()
        self._taken = 0
        self._known: dict[CallInput, InputFault | None] = {}
        """What earlier checks have found."""
        self.lark_inputs: list[CallInput] = []
        """Inputs that wait to be checked."""
        self.warnings: list[ClientWarning] = []
        """Inputs that do not have their form, and those that were not checked: one of each for a tool."""

    def check(self, path: str, name: str, form: InputForm) -> Check:
        """The check of inputs for this tool, whose grammar is at this path."""
        self.has_lark |= form.syntax == "lark"

        def check(text: str) -> None:
            each = CallInput(path, name, form, text)
            if each in self._known:
                self.tell(each, self._known[each])
            elif form.syntax == "regex":
                self.tell(each, self.pattern_fault(each))
            elif self.may_check_lark():
                self.lark_inputs.append(each)
            else:
                self.tell(each, TOO_MANY)

        return check

    def pattern_fault(self, each: CallInput) -> InputFault | None:
        """What is wrong with an input that must match a regular expression."""
        return self._patterns.fault(each.form.definition, each.text)

    def may_check_lark(self) -> bool:
        """Whether one more input may be held against a Lark grammar. It is counted."""
        self._taken += 1
        return self._taken <= MOST_INPUTS

    def remember(self, each: CallInput, fault: InputFault | None) -> None:
        """Keeps what a check has found, so that it is not made again."""
        self._known[each] = fault

    def tell(self, each: CallInput, fault: InputFault | None) -> None:
        """Warns of this fault."""
        if fault is None:
            return
        details = f"The input of a call of '{each.name[:LONGEST_NAME]}' {fault.words}."
        warning = ClientWarning(each.path, FEATURE, details)
        if len(self.warnings) < MOST_WARNINGS and warning not in self.warnings:
            self.warnings.append(warning)
