"""Checks a request against what the model is known not to support: a problem or a warning for each difference."""

from collections.abc import Sequence
from typing import Final

from ..bridges.base import FunctionSpec
from ..protocol.problems import refuse
from ..protocol.request.input_parts import InputAudioPart, InputFilePart, InputImagePart, InputPart
from ..protocol.warnings import ClientWarning, no_effect
from .nouns import Text
from .prompt_rules import PromptRules

_PARTS: Final[dict[type[InputPart], tuple[str, str, str]]] = {
    InputImagePart: ("vision", "An image", "see images"),
    InputFilePart: ("files", "A file", "read files"),
    InputAudioPart: ("audio", "A recording", "hear audio"),
}
"""The capability that a part needs, the part, and what a model without it cannot do."""


class ModelLimits:
    """Compares a request with the known capabilities of the model. Unknown capabilities are taken as present."""

    def __init__(self, rules: PromptRules) -> None:
        self._can = rules.can
        self._lenient = rules.server.lenient

    def in_place_of(self, part: InputPart, path: str) -> tuple[Text, ClientWarning] | None:
        """None for a part that the model takes; otherwise the text to send instead, or a refusal."""
        if type(part) not in _PARTS:
            return None
        needed, what, able = _PARTS[type(part)]
        if getattr(self._can, needed) is not False:
            return None
        message = f"'{path}' is '{part.type}', and this model cannot {able}."
        warning = self._lack(message, path, needed, "It was left out.")
        return Text(f"[{what} was left out here: this model cannot {able}.]"), warning

    def tools(
        self, specs: Sequence[FunctionSpec], *, demanded: bool
    ) -> tuple[Sequence[FunctionSpec], list[ClientWarning]]:
        """The functions that may be offered. `demanded`: the client demands a call."""
        if not specs or self._can.tools is not False:
            return specs, self._strictness(specs)
        message = "This model cannot call tools."
        if demanded:
            raise refuse("unsupported_value", message, "tool_choice")
        return [], [self._lack(message, "tools", "tools", "They were left out.")]

    def parallel_calls(self, asked: bool | None) -> tuple[bool | None, list[ClientWarning]]:  # noqa: FBT001 — the client's own value
        """The value of `parallel_tool_calls` to send."""
        if self._can.parallel_calls is not False:
            return asked, []
        if asked is not False:
            return None, []
        details = "'parallel_tool_calls: false' has no effect: this model has no such setting."
        return None, [ClientWarning("parallel_tool_calls", "parallel_tool_calls", details)]

    def verbosity(self, asked: str | None) -> tuple[str | None, list[ClientWarning]]:
        """The value of `text.verbosity` to send."""
        if asked is None or self._can.verbosity is not False:
            return asked, []
        return None, [no_effect("text.verbosity", "verbosity")]

    def _lack(self, message: str, path: str, feature: str, otherwise: str) -> ClientWarning:
        if not self._lenient:
            raise refuse("unsupported_value", message, path)
        return ClientWarning(path, feature, f"{message} {otherwise}")

    def _strictness(self, specs: Sequence[FunctionSpec]) -> list[ClientWarning]:
        if self._can.strict_tools is not False or not any(spec.strict for spec in specs):
            return []
        details = "'strict' on tools has no effect: this model's server does not enforce schemas."
        return [ClientWarning("tools", "strict", details)]
