"""What a model can do, as far as anybody knows."""

from typing import Final, Literal

import msgspec

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may be told to think, from nothing upwards."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a model takes. None is «nobody knows»: then it is let through, and the model's server judges."""

    vision: bool | None = None
    """Images."""
    files: bool | None = None
    """Files, such as PDF."""
    audio: bool | None = None
    """Sound."""
    tools: bool | None = None
    """Functions it may call."""
    parallel_calls: bool | None = None
    """Being told whether several calls at once are welcome (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Arguments held to their schema (`strict` on a tool)."""
    reasoning: bool | None = None
    """Being told how much to think."""
    efforts: tuple[str, ...] | None = None
    """Which of `EFFORTS` it knows, in that order."""
    thinking_tokens: dict[str, int] | None = None
    """What an effort costs, where that must be less than the limit of the whole answer."""
    structured_output: tuple[str, ...] | None = None
    """Which formats its server holds an answer to: of `json_schema` and `json_object`."""
    structured_beside_tools: tuple[str, ...] | None = None
    """The same, in an ask that offers tools. None: no different."""
    verbosity: bool | None = None
    """Being told how much to say."""
    replaces_references: Literal["all", "old"] | None = None
    """Where `$ref` in a schema is replaced on the way by what it refers to: in all schemas, or in those of formats and,
    of tools, in those that keep their definitions in `definitions` or `components`. None: nowhere."""

    def over(self, other: "Capabilities") -> "Capabilities":
        """What is known here, and of the rest what is known there."""
        known = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(other, **known)

    def formats(self, *, beside_tools: bool) -> tuple[str, ...] | None:
        """Which formats an answer is held to, in an ask with or without tools."""
        if beside_tools and self.structured_beside_tools is not None:
            return self.structured_beside_tools
        return self.structured_output


ANYTHING: Final = Capabilities()
"""A model of which nothing is known."""
