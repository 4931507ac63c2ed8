"""What this model is known not to take: a problem that names it, or a warning. Never silence."""

from collections.abc import Sequence
from typing import Final

from app.bridges.base import FunctionSpec
from app.dialects.chat.chat_options import ChatOptions
from app.protocol.problems import refuse
from app.protocol.request.input_parts import InputAudioPart, InputFilePart, InputImagePart, InputPart

_PARTS: Final[dict[type[InputPart], tuple[str, str, str]]] = {
    InputImagePart: ("vision", "An image", "see images"),
    InputFilePart: ("files", "A file", "read files"),
    InputAudioPart: ("audio", "A recording", "hear audio"),
}
"""The capability that a part needs, the part, and what a model without it cannot do."""


class Limits:
    """Holds a request against what is known of the model. What is not known passes."""

    def __init__(self, options: ChatOptions, warnings: list[str]) -> None:
        self._can = options.can
        self._lenient = options.lenient
        self._warnings = warnings

    def in_place_of(self, part: InputPart, path: str) -> str | None:
        """None for a part that the model takes; otherwise the words to tell it instead, or a refusal."""
        if type(part) not in _PARTS:
            return None
        needed, what, able = _PARTS[type(part)]
        if getattr(self._can, needed) is not False:
            return None
        self._lack(f"'{path}' is '{part.type}', and this model cannot {able}.", path, "It was left out.")
        return f"[{what} was left out here: this model cannot {able}.]"

    def tools(self, specs: Sequence[FunctionSpec], *, demanded: bool) -> Sequence[FunctionSpec]:
        """Those that may be offered. `demanded`: the client insists on a call."""
        if not specs or self._can.tools is not False:
            return self._loose(specs)
        message = "This model cannot call tools."
        if demanded:
            raise refuse("unsupported_value", message, "tool_choice")
        self._lack(message, "tools", "They were left out.")
        return []

    def parallel_calls(self, asked: bool | None) -> bool | None:  # noqa: FBT001 — the client's own value
        """`parallel_tool_calls` as it is to be asked."""
        if self._can.parallel_calls is not False:
            return asked
        if asked is False:
            self._warnings.append("'parallel_tool_calls: false' has no effect: this model cannot be told so.")
        return None

    def verbosity(self, asked: str | None) -> str | None:
        """`text.verbosity` as it is to be asked."""
        if asked is None or self._can.verbosity is not False:
            return asked
        self._warnings.append("'text.verbosity' has no effect on this model.")
        return None

    def _lack(self, message: str, path: str, otherwise: str) -> None:
        if not self._lenient:
            raise refuse("unsupported_value", message, path)
        self._warnings.append(f"{message} {otherwise}")

    def _loose(self, specs: Sequence[FunctionSpec]) -> Sequence[FunctionSpec]:
        if self._can.strict_tools is False and any(spec.strict for spec in specs):
            self._warnings.append("'strict' on tools has no effect: this model's server does not enforce schemas.")
        return specs
