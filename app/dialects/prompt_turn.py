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
from ..prompt_cache.prefix import Prefix
from ..protocol.events import Event
from ..protocol.ids import NewId
from ..protocol.problems import TOO_LONG_AN_ANSWER, Problem
from ..protocol.request.create_response import ENCRYPTED_REASONING, CreateResponse
from ..protocol.response import NOTHING_SENT, Identity, Sent, Usage
from ..protocol.warnings import ClientWarning
from .body_length import CHARACTERS_PER_TOKEN
from .call_correction import CallCorrection
from .search_loop import SearchLoop
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
        self.may_be_shorter = request.truncation == "auto" and bool(request.items)
        """Whether less of the conversation may be sent, if the upstream refuses it as too long."""
        self.table = built.table
        """The client's tools."""
        self._max_answer_bytes = options.server.max_answer_bytes
        self._usage_is_estimated = False
        seal = seal_for(request, options, model, self.wire.form)
        self._model = model
        self._options = options
        self._sends_state = seal is not None
        self.loop: SearchLoop | CallCorrection | None = None
        """The searches that this server runs, or the calls that it checks before the client sees them."""
        if built.search is not None:
            self.loop = SearchLoop(built.search, built.prompt, self.wire.form, sends_state=self._sends_state)
        elif options.model.grammars == "ask_again" and self.table.has_forms:
            self.loop = CallCorrection(self.table, built.prompt, self.wire.form, sends_state=self._sends_state)
        self.is_waiting = False
        """Whether the answer waits for the results of searches, or for checks."""
        self._read_before = 0
        """Bytes of the messages before this one."""
        self._has_gone_on = False
        self._begun: list[Delta] = []
        """The deltas with which the next message begins."""
        self._reader = self.wire.reader(built.prompt, options, self._sends_state or self.loop is not None)
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
        """Whether the last event was returned, or no more come until searches or checks are made."""
        return self._emitter.over or self.is_waiting

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
        if self.loop is not None:
            notes |= self.loop.notes
        notes |= {part.note: part.value for part in self._reader.left_out}
        return notes

    @property
    def length(self) -> int:
        """Estimated tokens of the request body. Known until the answer begins."""
        return self.wire.tokens_of(self.ask)

    @property
    def prefix(self) -> Prefix:
        """What a prompt cache compares of the request body. Known until the answer begins."""
        return self.wire.prefix_of(self.ask)

    @property
    def late_warnings(self) -> list[ClientWarning]:
        """What was left out of the answer. In a streamed answer it is sent in the last event, not in a header."""
        warnings = tool_choice_warnings(dict.fromkeys(self._emitter.ruled_out), lacks_call=self._lacks_demanded_call)
        if left_out := self._citations_left_out:
            details = f"Citations without an address or a place in the text were left out: {left_out}."
            warnings.append(ClientWarning("output", "citations", details))
        if self.loop is not None:
            warnings += self.loop.warnings
        return [*warnings, *self.table.late_warnings, *(part.warning for part in self._reader.left_out)]

    @property
    def _lacks_demanded_call(self) -> bool:
        """Whether the answer is complete without the call that the client demands. A failed answer has its error."""
        has_searched = self.loop is not None and self.loop.was_called
        return self._emitter.over and self.problem is None and self.table.lacks_demanded_call and not has_searched

    @property
    def _citations_left_out(self) -> int:
        return self._reader.citations_left_out + self._emitter.late_citations

    def begin(self, sent: Sent = NOTHING_SENT) -> list[Event]:
        """The first two events, unless they were sent before. The upstream has the request body by now."""
        self._input_tokens = self.length
        self.ask, self.prompt = {}, None
        return self._next_begun() if self._has_gone_on else self._emitter.begin(sent)

    def go_on(self, prompt: Prompt, begun: list[Delta]) -> None:
        """Makes the request body for the next message of the same answer, which begins with these deltas.

        They are sent at the latest when the message begins or the response ends.
        """
        self._begun = begun
        self._has_gone_on = True
        self.ask, self.prompt = self.wire.encode(prompt, self._model, self._options).body, prompt
        self._read_before += self._reader.size
        self._reader = self.wire.reader(prompt, self._options, True)  # noqa: FBT003 — as `Wire` has it

    def receive(self, payload: Any) -> list[Event]:
        """The events for one payload."""
        events = self._emitter.feed(self._for_client(self._reader.read(payload)))
        if self._read_before + self._reader.size > self._max_answer_bytes and not self.over:
            events += self.fail(TOO_LONG_AN_ANSWER)
        return events

    def keep_alive(self) -> list[Event]:
        """A keep-alive event."""
        return [*self._next_begun(), *self._emitter.keep_alive()]

    def end(self) -> list[Event]:
        """The last events, after the upstream has closed its stream."""
        rest = self._reader.rest()
        reported = self._emitter.usage if self.loop is None else self.loop.usage
        if reported is None and not any(isinstance(delta, UsageReported) for delta in rest):
            rest.insert(0, UsageReported(self._estimate()))
        events = self._emitter.feed(self._for_client(rest))
        if self._emitter.over:
            return events
        if self.loop is not None:
            if self.loop.wants_more:
                self.is_waiting = True
                return events
            return events + self.finish(self.loop)
        return [*events, *self._emitter.end()]

    def finish(self, loop: SearchLoop | CallCorrection) -> list[Event]:
        """The last events of an answer whose model is not asked again."""
        events = self._emitter.feed(self._shown(loop.end()))
        return events if self._emitter.over else [*events, *self._emitter.end()]

    def fail(self, problem: Problem) -> list[Event]:
        """The last events of a response that fails because of this problem."""
        return [*self._next_begun(), *self._emitter.fail(problem)]

    def stop(self, reason: StopReason) -> list[Event]:
        """The last events of a response that its client ends."""
        return [*self._next_begun(), *self._emitter.stop(reason, self._unreported)]

    def stop_at_boundary(self) -> list[Event]:
        """Ends the response before its next item, for a client that steers it."""
        return [*self._next_begun(), *self._emitter.stop_at_boundary(self._unreported)]

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return self._emitter.next_number()

    def _next_begun(self) -> list[Event]:
        """The events with which the next message begins, unless they were sent before."""
        begun, self._begun = self._begun, []
        return self._emitter.feed(begun) if begun else []

    def _for_client(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client, without the calls of this server's own search."""
        if self.loop is not None:
            deltas = self.loop.take(deltas)
        return self._shown(deltas) if self._hides_reasoning else deltas

    def _shown(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client. Reasoning that it did not ask for is kept as provider state only."""
        if not self._hides_reasoning:
            return deltas
        return [_hidden(delta.text) if isinstance(delta, ReasoningDelta) else delta for delta in deltas]

    def _unreported(self) -> Usage | None:
        """The usage of all messages, with an estimate of the last one; None if the server has reported that."""
        if self.loop is None:
            return self._estimate() if self._emitter.usage is None else None
        if self.loop.usage is not None:
            return None
        together = self.loop.take([UsageReported(self._estimate())])
        return next(delta.usage for delta in together if isinstance(delta, UsageReported))

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
