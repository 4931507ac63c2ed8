"""What all Python drivers share: the task comes in as JSON, each cell is tried, what the client has goes out as JSON.

Nothing but the standard library: it runs in the clients' own environment.
"""

import asyncio
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

Outcome = dict[str, Any]
Drive = Callable[[str, str], Any]
"""Drives the client through one cell: the server's base URL, the model's name; what it gives may be awaitable."""


def thrown(error: BaseException) -> Outcome:
    """An error as a program that catches it sees it."""
    return {"threw": type(error).__name__, "error": str(error)}


def run_cells(drives: dict[str, Drive], caught: Callable[[BaseException], Outcome] = thrown) -> None:
    """Try every cell of the task."""
    task = json.load(sys.stdin)
    result: dict[str, Outcome] = {}
    for cell, model in task["cells"].items():
        try:
            given = drives[cell](f"{task['url']}/v1", model)
            result[cell] = asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given
        except Exception as error:  # noqa: BLE001 — whatever a client throws is what its user sees
            result[cell] = caught(error)
    json.dump(result, sys.stdout)


async def _awaited(given: Any) -> Any:
    return await asyncio.wait_for(given, 120)
