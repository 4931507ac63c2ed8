"""The base of every posted object, and marks for members that hold objects of several shapes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """An object that a client posts. Values are not converted; unknown keys are kept, not refused."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")

    def member(self, name: str) -> Any:
        """The member of this name, known or not; None if there is none. `getattr` is slow where there is none."""
        held = self.__dict__
        if name in held:
            return held[name]
        extra = self.__pydantic_extra__
        return extra.get(name) if extra else None


class Holds(Enum):
    """Marks a member that must be there and holds a list of objects, each of which is read by its own `type`."""

    PARTS = auto()
    """Content parts, or a string."""
    TOOLS = auto()
    """Tools."""


@dataclass(frozen=True)
class OneOf:
    """Marks a member that is an object of one of these shapes, by its `type`, or null."""

    shapes: Mapping[str, type[Shape]]
    otherwise: type[Shape] | None = None
    """The shape of an object of any other type. None: there is no other type."""


@dataclass(frozen=True)
class Nested:
    """Marks a member that is an object of this shape, which has marked members itself, or null."""

    shape: type[Shape]
