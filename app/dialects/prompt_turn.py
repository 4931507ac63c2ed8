"""A turn with a server that is sent a prompt: makes the request body, reads the payloads and returns the events.

It is the same for every dialect but for its `Wire`: how a prompt becomes a body, and payloads become deltas.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic

from ..emitter.call_register import tool_choice_warnings
from ..emitter.deltas import Delta, ProviderStateAdded, ReasoningDelta, UsageReported
from ..emitter.emitter import Emitter
from ..emitter.opening_response import opening_response
from ..emitter.rules import StopReason
from ..prompt.build import build
from ..prompt.nouns import Prompt
from ..prompt.sealed_state import HIDDEN, seal_for
from ..protocol.events import Event
from ..protocol.ids import NewId
from ..protocol.problems import TOO_LONG_AN_ANSWER, Problem
from ..protocol.request.create_response import ENCRYPTED_REASONING, CreateResponse
from ..protocol.response import NOTHING_SENT, Identity, Sent, Usage
from ..protocol.warnings import ClientWarning
from .body_length import CHARACTERS_PER_TOKEN
from .wire import ADDED, OptionsT, Wire


class PromptTurn(Generic[OptionsT]):
    """The request body for one turn, and the events for each payload.

    Raises `ProblemError` for what cannot be sent.
    """

    wire: Wire[OptionsT]

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        request: CreateResponse,
        *,
        model: str,
        options: OptionsT,
        identity: Identity,
        new_id: NewId,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        built = build(request, rules=options, model=model, state_form=self.wire.form)
        encoded = self.wire.encode(built.prompt, model, options)
        self.ask = encoded.body
        """The request body. Dropped when the answer begins: both may be long."""
        self.prompt: Prompt | None = built.prompt
        """What the request body was made from. Dropped with it."""
        self.size = request.size
        """Bytes of the request, and of what was fetched for it."""
        self._input_tokens = 0
        """Estimated, until the upstream reports its usage."""
        changes = [each for each in encoded.warnings if request.generate or each.feature != ADDED]
        self.warnings: Sequence[ClientWarning] = (*built.warnings, *changes)
        self.table = built.table
        """The client's tools."""
        self._max_answer_bytes = options.server.max_answer_bytes
        self._usage_is_estimated = False
        seal = seal_for(request, options, model, self.wire.form)
        self._reader = self.wire.reader(built.prompt, options, seal is not None)
        self._hides_reasoning = options.model.reasoning == "on_request" and not _wants_reasoning(request)
        self._emitter = Emitter(
            opening_response(request, id=identity.id, created_at=identity.created_at, removed=built.removed),
            tools=self.table,
            new_id=new_id,
            now=now,
            raw_reasoning=options.model.reasoning == "text",
            for_codex=for_codex,
            seal=seal,
        )

    @property
    def over(self) -> bool:
        """Whether the last event was returned."""
        return self._emitter.over

    @property
    def problem(self) -> Problem | None:
        """Why it failed."""
        return self._emitter.problem

    @property
    def notes(self) -> dict[str, Any]:
        """Notes for the log: calls against the client's `tool_choice`, estimated usage, what was left out."""
        notes: dict[str, Any] = {"dropped_tools": len(self.table.warnings)} if self.table.warnings else {}
        if self._emitter.ruled_out:
            notes["ruled_out_calls"] = self._emitter.ruled_out
        if self._lacks_demanded_call:
            notes["demanded_call"] = "missing"
        if self._usage_is_estimated:
            notes["usage"] = "estimated"
        if left_out := self._citations_left_out:
            notes["citations_left_out"] = left_out
        notes |= {part.note: part.value for part in self._reader.left_out}
        return notes

    @property
    def length(self) -> int:
        """Estimated tokens of the request body. Known until the answer begins."""
        return self.wire.tokens_of(self.ask)

    @property
    def late_warnings(self) -> list[ClientWarning]:
        """What was left out of the answer. In a streamed answer it is sent in the last event, not in a header."""
        warnings = tool_choice_warnings(dict.fromkeys(self._emitter.ruled_out), lacks_call=self._lacks_demanded_call)
        if left_out := self._citations_left_out:
            details = f"Citations without an address or a place in the text were left out: {left_out}."
            warnings.append(ClientWarning("output", "citations", details))
        return [*warnings, *(part.warning for part in self._reader.left_out)]

    @property
    def _lacks_demanded_call(self) -> bool:
        """Whether the answer is complete without the call that the client demands. A failed answer has its error."""
        return self._emitter.over and self.problem is None and self.table.lacks_demanded_call

    @property
    def _citations_left_out(self) -> int:
        return self._reader.citations_left_out + self._emitter.late_citations

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:
        """The first two events, unless they were sent before. The upstream has the request body by now."""
        self._input_tokens = self.length
        self.ask, self.prompt = {}, None
        return self._emitter.begin(sent)

    def receive(self, payload: Any) -> list[Event]:
        """The events for one payload."""
        events = self._emitter.feed(self._shown(self._reader.read(payload)))
        if self._reader.size > self._max_answer_bytes and not self.over:
            events += self.fail(TOO_LONG_AN_ANSWER)
        return events

    def keep_alive(self) -> list[Event]:
        """A keep-alive event."""
        return self._emitter.keep_alive()

    def end(self) -> list[Event]:
        """The last events, after the upstream has closed its stream."""
        rest = self._reader.rest()
        if self._emitter.usage is None and not any(isinstance(delta, UsageReported) for delta in rest):
            rest.insert(0, UsageReported(self._estimate()))
        events = self._emitter.feed(self._shown(rest))
        return events if self._emitter.over else [*events, *self._emitter.end()]

    def fail(self, problem: Problem) -> list[Event]:
        """The last events of a response that fails because of this problem."""
        return self._emitter.fail(problem)

    def stop(self, reason: StopReason) -> list[Event]:
        """The last events of a response that its client ends."""
        return self._emitter.stop(reason, self._unreported)

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return self._emitter.next_number()

    def _shown(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client. Reasoning that it did not ask for is kept as provider state only."""
        if not self._hides_reasoning:
            return deltas
        return [_hidden(delta.text) if isinstance(delta, ReasoningDelta) else delta for delta in deltas]

    def _unreported(self) -> Usage | None:
        """An estimate of the usage; None if the server has reported it."""
        return self._estimate() if self._emitter.usage is None else None

    def _estimate(self) -> Usage:
        self._usage_is_estimated = True
        output_tokens = -(-self._reader.written // CHARACTERS_PER_TOKEN)
        total = self._input_tokens + output_tokens
        return Usage(input_tokens=self._input_tokens, output_tokens=output_tokens, total_tokens=total, estimated=True)


def _wants_reasoning(request: CreateResponse) -> bool:
    summary = None if request.reasoning is None else request.reasoning.wanted_summary
    return summary is not None or ENCRYPTED_REASONING in request.include


def _hidden(text: str) -> ProviderStateAdded:
    """Reasoning as provider state: not shown to the client, and sent back to the upstream that wrote it."""
    return ProviderStateAdded({HIDDEN: [text]} if text else {})
