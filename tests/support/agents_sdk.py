"""The Agents SDK. To load it takes a fifth of the time in which a worker starts, so that only its own tests do."""

from functools import cache
from importlib import import_module
from typing import Any


@cache
def agents_sdk() -> Any:
    """The package `agents`."""
    return import_module("agents")
