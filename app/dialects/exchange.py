"""One ask and its answer, in one dialect, without I/O: what is asked, and what the client is told of the answer."""

from collections.abc import Callable

from ..emitter.deltas import Deltas, ProviderStateAdded, ReasoningDelta, UsageReported
from ..emitter.emitter import Emitter
from ..emitter.response import Lifecycle
from ..emitter.rules import Reason
from ..history.sealing import Sealer
from ..prompt.build import build
from ..prompt.nouns import Model
from ..prompt.state import HIDDEN, State
from ..tools.choice import NO_CALL
from ..types.events import Events
from ..types.json import Json
from ..types.problems import Warnings
from ..types.request import ENCRYPTED_REASONING, Request
from ..types.response import Usage
from .record import Dialect, Translation
from .responses.exchange import RelayExchange

_CHARACTERS_PER_TOKEN = 4
"""A rough average over languages and code."""


class TranslatedExchange:
    """The body for an upstream, and the events for each payload of its answer."""

    def __init__(
        self,
        request: Request,
        model: Model,
        translation: Translation,
        tokens: Callable[[Json], int],
        lifecycle: Lifecycle,
        sealer: Sealer | None,
    ) -> None:
        """Raises `ProblemError` for what this model cannot be asked."""
        state = State(sealer, translation.state, model) if sealer else None
        asked = sealer is not None and (sealer.always or ENCRYPTED_REASONING in request.include)
        seal = state.seal if state and asked else None
        prompt, self._tools, warnings = build(request, model, state)
        self.model = model
        self.body, more = translation.body(prompt, model)
        self.warnings = warnings + more
        self._tokens = tokens
        self._reader = translation.reader(prompt, model, seal is not None)
        wants = request.reasoning and request.reasoning.wanted_summary
        hides = model.settings.reasoning == "on_request" and not (wants or ENCRYPTED_REASONING in request.include)
        raw = model.settings.reasoning == "text"
        self.emitter = Emitter(lifecycle, self._tools, raw_reasoning=raw, seal=seal)
        self._feed = self._feed_hidden if hides else self.emitter.feed

    @property
    def late_warnings(self) -> Warnings:
        """What was left out of the answer."""
        warnings = Warnings()
        if names := ", ".join(dict.fromkeys(self.emitter.ruled_out)):
            warnings.append(f"Calls that 'tool_choice' does not allow were left out: {names}.")
        demanded = self._tools.choice.mode == "required" and not self._tools.hosted
        lacks_call = demanded and not self.emitter.has_calls
        if self.emitter.over and self.emitter.problem is None and lacks_call:
            warnings.append(NO_CALL)
        if left_out := self._reader.citations_left_out + self.emitter.late_citations:
            warnings.append(f"Citations without an address or a place in the text were left out: {left_out}.")
        return [*warnings, *self._reader.left_out]

    def receive(self, payload: Json) -> Events:
        """The events for one payload."""
        return self._feed(self._reader.read(payload))

    def end(self) -> Events:
        """The last events, when the upstream has ended its answer."""
        rest = self._reader.rest()
        self._estimate()
        events = self._feed(rest)
        return events if self.emitter.over else [*events, *self.emitter.end()]

    def stop(self, reason: Reason) -> Events:
        """The last events of a response that its client ends."""
        self._estimate()
        return self.emitter.stop(reason)

    def _feed_hidden(self, deltas: Deltas) -> Events:
        """Reasoning that the client did not ask for is kept as provider state only."""
        return self.emitter.feed([_hidden(each.text) if isinstance(each, ReasoningDelta) else each for each in deltas])

    def _estimate(self) -> None:
        """Supplies the usage that the upstream did not report."""
        if self.emitter.usage is None:
            into, out = self._tokens(self.body), -(-self._reader.written // _CHARACTERS_PER_TOKEN)
            usage = Usage(input_tokens=into, output_tokens=out, total_tokens=into + out, estimated=True)
            self.emitter.feed([UsageReported(usage)])


Exchange = TranslatedExchange | RelayExchange


def new_exchange(
    request: Request, model: Model, dialect: Dialect, lifecycle: Lifecycle, sealer: Sealer | None
) -> Exchange:
    """The exchange for this request, in any dialect. Raises `ProblemError`."""
    if dialect.translation is None:
        return RelayExchange(request, model, lifecycle, sealer)
    return TranslatedExchange(request, model, dialect.translation, dialect.tokens, lifecycle, sealer)


def _hidden(text: str) -> ProviderStateAdded:
    return ProviderStateAdded({HIDDEN: [text]} if text else {})
