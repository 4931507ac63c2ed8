"""Shares the tests out to the workers of pytest-xdist: a file to one worker, and a folder where that saves much.

xdist itself looks for the number of each test in the list of all, and counts all tests of a worker again after each.
"""

import re
from typing import Any, Final

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

TOGETHER: Final = (r"tests/http/abuse/", r"tests/inspector/test_page_?[a-i]?")
"""How the names of files begin that one worker runs one after the other: they share a server, or a browser."""
_TOGETHER: Final = re.compile("|".join(TOGETHER))


def unit_of(nodeid: str) -> str:
    """What is run as one: a file, or the files with the same beginning."""
    file, _, _ = nodeid.partition("::")
    shared = _TOGETHER.match(file)
    return shared[0] if shared else file


class SharedOut(LoadFileScheduling):  # type: ignore[misc]
    """The files of a test run, and which worker runs which."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._numbers: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        """As xdist calls it."""
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give the next file to this worker."""
        if not self._numbers:
            self._numbers = {name: number for number, name in enumerate(self.collection)}
        scope, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = tests
        node.send_runtest_some([self._numbers[name] for name in tests])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:  # noqa: ARG002 — xdist gives it
        """Forget a test that has been run, so that the others are soon counted."""
        name = self.collection[item_index]
        scope = unit_of(name)
        del self.assigned_work[node][scope][name]
        if not self.assigned_work[node][scope]:
            del self.assigned_work[node][scope]
        self._reschedule(node)
