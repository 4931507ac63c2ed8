"""Questions on a terminal: each is asked until its answer can be read."""

from collections.abc import Callable
from typing import TypeVar

from .rows import show

Ask = Callable[[str], str]
"""As `input` does. It raises EOFError or KeyboardInterrupt."""

T = TypeVar("T")


class WrongAnswerError(Exception):
    """An answer that means nothing: a sentence that says why, without its last period, or nothing."""


def ask_until_valid(
    ask: Ask, question: str, read: Callable[[str], T], *, default: str = "", how: str = "Please enter something."
) -> T:
    """Ask until `read` takes the answer. An empty answer means `default`, if there is one. `how`: what to enter."""
    while True:
        answer = ask(question).strip() or default
        try:
            if answer:
                return read(answer)
            why = ""
        except WrongAnswerError as error:
            why = str(error)
        show("  ", f"{why[:1].upper()}{why[1:]}. {how}" if why else how, ())


def yes(ask: Ask, question: str) -> bool:
    """The answer to a question whose usual answer is no."""

    def read(answer: str) -> bool:
        if answer.lower() not in {"y", "yes", "n", "no"}:
            raise WrongAnswerError
        return answer.lower().startswith("y")

    return ask_until_valid(ask, f"{question} [y/N] ", read, default="n", how="Please enter y or n.")
