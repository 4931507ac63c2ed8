"""What all Python drivers share: each line of the input is a cell's task, each line of the output what the client has.

It runs in the clients' own environment.
"""

import asyncio
import inspect
import json
import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from tests.matrix import words

Task = SimpleNamespace
"""`url`, `model`, `retries`, the names of the `tools`, and whether it `thinks`, wants a `schema`, sends a `picture`."""


class Weather(BaseModel):
    """The weather of a city: a structured answer."""

    city: str
    degrees: int


class Told(dict[str, Any]):
    """What the client has, and the functions behind its tools, which note what they were given."""

    def weather(self, city: str) -> str:
        """The weather of a city."""
        self["calls"] = [*self.get("calls", []), city]
        return words.degrees(city)

    def run_code(self, content: str) -> str:
        """Runs a program."""
        self["input"] = self.get("input", "") + content
        return words.RAN

    def run(self, name: str, given: Any) -> Any:
        """What the tool of this name gives, whose arguments these are."""
        if name == "take_picture":
            return [words.IMAGE]
        return self.run_code(given) if name == "run_code" else self.weather(**given)

    def read(self, answer: Any) -> None:
        """The whole answer at its end, which is what was heard in pieces."""
        if isinstance(answer, Weather):
            self["parsed"] = answer.model_dump()
        elif answer != self["text"]:
            self["read"] = answer


def serve(drive: Callable[[Task, Told], Any]) -> None:
    """Answer every task. Whatever the client raises is what its user sees."""
    logging.disable()  # what a client logs, it raises, too
    for line in sys.stdin:
        told = Told()
        try:
            driven = drive(Task(**json.loads(line)), told)
            if inspect.isawaitable(driven):
                asyncio.run(asyncio.wait_for(driven, 60))
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error} {vars(error)}"
        print(json.dumps(told), flush=True)
