"""What a model can do, as far as is known."""

from typing import Final, Literal, get_args

from app.options import Can, Effort, Format

EFFORTS: Final[tuple[str, ...]] = get_args(Effort)
"""How much a model may be asked to think, from nothing upwards."""


class Capabilities(Can):
    """What a model takes. None: not known, so it is sent, and the model's server judges."""

    efforts: tuple[str, ...] | None = None
    """Which of `EFFORTS` it knows, in that order."""
    thinking_tokens: dict[str, int] | None = None
    """What an effort costs, where that must be less than the limit of the whole answer."""
    structured_beside_tools: tuple[Format, ...] | None = None
    """The same, in an ask that offers tools. None: no different."""
    replaces_references: Literal["all", "old"] | None = None
    """Where `$ref` in a schema is replaced on the way by what it refers to: in all schemas, or in those of formats and,
    of tools, in those that keep their definitions in `definitions` or `components`. None: nowhere."""

    def over(self, other: "Capabilities") -> "Capabilities":
        """What is known here, and of the rest what is known there."""
        return other.model_copy(update={name: value for name, value in self if value is not None})

    def formats(self, *, beside_tools: bool) -> tuple[Format, ...] | None:
        """Which formats an answer is held to, in an ask with or without tools."""
        if beside_tools and self.structured_beside_tools is not None:
            return self.structured_beside_tools
        return self.structured_output


ANYTHING: Final = Capabilities()
"""A model of which nothing is known."""
