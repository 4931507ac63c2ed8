"""Which tools the model may or must call."""

from typing import Annotated, Literal

from pydantic import Field, SkipValidation

from .shape import Shape

Named = Annotated[str, Field(max_length=256)]
"""Longer than the name of any tool: a longer one is refused before it is looked up."""


class ChosenTool(Shape):
    """One tool, named by its type and, where that type has names, by its name."""

    type: Named
    name: Named | None = None
    namespace: Named | None = None


class AllowedTools(Shape):
    """The only tools that may be called."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"] = "auto"
    tools: Annotated[list[ChosenTool], SkipValidation]


ToolChoice = Literal["auto", "none", "required"] | ChosenTool | AllowedTools
