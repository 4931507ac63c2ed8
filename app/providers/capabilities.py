"""What a model can do, as far as it is known."""

from typing import Final, get_args

from ..options import Can, Effort, Format

EFFORTS: Final[tuple[str, ...]] = get_args(Effort)
"""How much a model may be asked to think, from nothing upwards."""


class Capabilities(Can):
    """What a model accepts. None: not known, so it is sent, and the model's server decides."""

    efforts: tuple[str, ...] | None = None
    """Which of `EFFORTS` it knows, in that order."""
    thinking_tokens: dict[str, int] | None = None
    """Effort -> tokens of reasoning, if that must be less than the limit of the whole answer."""
    structured_beside_tools: tuple[Format, ...] | None = None
    """The same, in an ask that offers tools. None: no different."""

    def over(self, other: "Capabilities") -> "Capabilities":
        """These capabilities; those that are None here are taken from `other`."""
        if other is ANYTHING:
            return self
        return other.model_copy(update={name: value for name, value in self if value is not None})

    def formats(self, *, beside_tools: bool) -> tuple[Format, ...] | None:
        """The formats that the model can be held to, in an ask with or without tools."""
        if beside_tools and self.structured_beside_tools is not None:
            return self.structured_beside_tools
        return self.structured_output


ANYTHING: Final = Capabilities()
"""The capabilities of a model of which nothing is known."""
