"""Leaves out what is not for the new edition: `tests/next/not_http.txt` lists it, and the switch deletes it."""

from pathlib import Path
from typing import Final

import pytest

from tests.http.edition import IS_NEXT

LIST: Final = Path(__file__).parents[1] / "next" / "not_http.txt"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A line is a file, a function or a case, and the reason."""
    if not IS_NEXT:
        return
    listed = {f"tests/http/{line.partition(' — ')[0]}" for line in LIST.read_text(encoding="utf-8").splitlines()}
    left_out = [item for item in items if listed & {item.nodeid, *_parents(item.nodeid)}]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _parents(node: str) -> tuple[str, str]:
    function = node.partition("[")[0]
    return function, function.partition("::")[0]
