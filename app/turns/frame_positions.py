"""Where the items of a websocket frame are in the whole input of its turn."""

import re
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..protocol.problems import Problem
from ..protocol.warnings import ClientWarning

_INDEX: Final = re.compile(r"\binput\[(\d+)\]")


class FramePositions(NamedTuple):
    """Names the items as the client does: `input[i]` is one of its frame, `history[i]` one that was known before."""

    offset: int = 0
    """The items that the connection remembers."""

    def problem(self, problem: Problem) -> Problem:
        """The same problem with the paths of the frame."""
        if not self.offset:
            return problem
        return replace(problem, message=self._renamed(problem.message), param=self._renamed(problem.param))

    def warning(self, warning: ClientWarning) -> ClientWarning:
        """The same warning with the paths of the frame."""
        if not self.offset:
            return warning
        return ClientWarning(self._renamed(warning.param), warning.feature, self._renamed(warning.details))

    def _renamed(self, text: str) -> str:
        return _INDEX.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        index = int(found[1])
        return f"history[{index}]" if index < self.offset else f"input[{index - self.offset}]"
