"""One response in one dialect, without I/O: what is asked, and what the client is told of the answer."""

from collections.abc import Iterable
from typing import Any, Final

from ..emitter.deltas import Delta, ReasoningDelta, UsageReported
from ..emitter.emitter import Emitter
from ..emitter.response import Lifecycle
from ..emitter.rules import Reason
from ..prompt.build import build
from ..prompt.model import Model
from ..types.events import Event
from ..types.problems import Problem, Warning
from ..types.request import Request
from ..types.response import Usage
from .record import Dialect

Json = dict[str, Any]

_CHARACTERS_PER_TOKEN: Final = 4
"""A rough average over languages and code."""


class DialectTurn:
    """The body for an upstream, and the events for each payload of its answer."""

    def __init__(
        self, request: Request, model: Model, dialect: Dialect, lifecycle: Lifecycle, *, for_codex: bool
    ) -> None:
        """Raises `ProblemError` for what this model cannot be asked."""
        prompt, self._tools, warnings = build(request, model)
        self.model = model
        self.body, more = dialect.body(prompt, model)
        self.warnings: list[Warning] = [*warnings, *more]
        self._tokens = dialect.tokens
        self._reader = dialect.reader(prompt, model)
        self._hides_reasoning = model.settings.reasoning == "on_request" and not _wants_reasoning(request)
        raw = model.settings.reasoning == "text"
        self._emitter = Emitter(lifecycle, self._tools, raw_reasoning=raw, for_codex=for_codex)

    @property
    def over(self) -> bool:
        """Whether the last event was returned."""
        return self._emitter.over

    @property
    def problem(self) -> Problem | None:
        """Why the response failed."""
        return self._emitter.problem

    @property
    def usage(self) -> Usage | None:
        """What was used, as far as it is known."""
        return self._emitter.usage

    @property
    def late_warnings(self) -> list[Warning]:
        """What was left out of the answer."""
        warnings: list[Warning] = []
        if names := ", ".join(dict.fromkeys(self._emitter.ruled_out)):
            details = f"Calls that 'tool_choice' does not allow were left out: {names}."
            warnings.append(Warning("tool_choice", "calls ruled out", details))
        lacks_call = self._tools.choice.mode == "required" and not self._emitter.has_calls
        if self.over and self.problem is None and lacks_call:
            details = "'tool_choice' demands a tool call, and the model made none that it allows."
            warnings.append(Warning("tool_choice", "demanded call", details))
        return warnings

    def receive(self, payload: Json) -> list[Event]:
        """The events for one payload."""
        deltas = self._reader.read(payload)
        return self._emitter.feed(self._shown(deltas) if self._hides_reasoning else deltas)

    def sign_of_life(self) -> list[Event]:
        """An event for a client that has heard nothing for long."""
        return self._emitter.sign_of_life()

    def end(self) -> list[Event]:
        """The last events, when the upstream has ended its answer."""
        rest = self._reader.rest()
        events = self._emitter.feed(self._shown(rest) if self._hides_reasoning else rest)
        if self.over:
            return events
        self._estimate()
        return [*events, *self._emitter.end()]

    def fail(self, problem: Problem) -> list[Event]:
        """The last events of a response that fails because of this problem."""
        return self._emitter.fail(problem)

    def stop(self, reason: Reason) -> list[Event]:
        """The last events of a response that its client ends."""
        self._estimate()
        return self._emitter.stop(reason)

    @staticmethod
    def _shown(deltas: list[Delta]) -> Iterable[Delta]:
        return [delta for delta in deltas if not isinstance(delta, ReasoningDelta)]

    def _estimate(self) -> None:
        """Supplies the usage that the upstream did not report."""
        if self._emitter.usage is None:
            into, out = self._tokens(self.body), -(-self._reader.written // _CHARACTERS_PER_TOKEN)
            usage = Usage(input_tokens=into, output_tokens=out, total_tokens=into + out, estimated=True)
            self._emitter.feed([UsageReported(usage)])


def _wants_reasoning(request: Request) -> bool:
    asked = request.reasoning
    summary = asked is not None and (asked.summary or asked.generate_summary)
    return bool(summary) or "reasoning.encrypted_content" in request.include
