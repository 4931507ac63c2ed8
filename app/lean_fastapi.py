"""FastAPI without its models of OpenAPI documents until they are used: they take 40 ms of a start, and 3 MB.

Nothing in this package uses them, as it makes its OpenAPI document itself. Another program in this process may.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

_MODELS: Final = "fastapi.openapi.models"


class _StandIn(ModuleType):
    """A module with a class of every name, of which FastAPI's own modules take what they mention."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _LateModel(name, (), {})
        setattr(self, name, made)
        return made


class _LateModel(type):
    """The class of a class that is loaded when it is used: it makes instances of the real one."""

    def __call__(cls, *values: Any, **fields: Any) -> Any:
        if isinstance(sys.modules.get(_MODELS), _StandIn):
            return fields  # a default value of FastAPI, which is valid as a dict as well
        return cls._real()(*values, **fields)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls._real(), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._real())

    def _real(cls) -> Any:
        from fastapi.openapi import models  # noqa: PLC0415 — late, as this file says

        return getattr(models, cls.__name__)


@contextmanager
def _without_models() -> Iterator[None]:
    """What is imported now gets a stand-in for the models; what is imported later gets them."""
    if "fastapi" not in sys.modules:
        sys.modules[_MODELS] = _StandIn(_MODELS)
    try:
        yield
    finally:
        _put_away()


def _put_away() -> None:
    if isinstance(sys.modules.get(_MODELS), _StandIn):
        del sys.modules[_MODELS]


with _without_models():
    from fastapi import APIRouter, FastAPI

__all__ = ["APIRouter", "FastAPI"]
