"""One turn in the chat dialect: ask, reader and emitter joined."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from app.compaction.prompt import Window, sealed_window
from app.compaction.window import (
    LETTER,
    SET_UP,
    Parted,
    expanded,
    fits_a_window,
    parted,
    summing,
    triggered,
    whole_window,
)
from app.dialects.chat.ask_length import CHARACTERS_PER_TOKEN, tokens_of
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.decode import ChunkReader
from app.dialects.chat.encode import ChatBody, encode
from app.dialects.chat.provider_state import FORM
from app.dialects.chat.summary import NO_SEAL, Summary, together
from app.emitter.deltas import Compacted, Delta, ProviderStateAdded, ReasoningDelta, UsageReported
from app.emitter.emitter import Emitter
from app.emitter.opening_response import opening_response
from app.parsing.items import parse_item
from app.prompt.build import build, tools_of, wants_logprobs
from app.prompt.sealed_state import HIDDEN, seal_for
from app.protocol.events import Event
from app.protocol.ids import Mint
from app.protocol.problems import TOO_LONG_AN_ANSWER, Problem, refuse
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity, Usage
from app.protocol.seals import Sealer
from app.protocol.warnings import ClientWarning

KEPT: Final = 80_000
"""Characters of what the user said that are kept to the letter beside a summary, at most."""

NOTHING_BEFORE: Final = "Before its last step there is nothing that could be summed up."
TOO_MANY: Final = f"More than {LETTER} items of it would have to be kept to the letter."


class ChatTurn:
    """What to ask, and what to tell the client of each chunk. Refuses (`ProblemError`) what cannot be said."""

    def __init__(  # noqa: PLR0913 — each is a fact of the turn, and has a name where it is given
        self,
        request: CreateResponse,
        *,
        model: str,
        options: ChatOptions,
        identity: Identity,
        mint: Mint,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        request = expanded(request, options.sealer)
        self._model, self._options = model, options
        self._table = tools_of(
            request.model_copy(update={"tool_choice": "none"}) if triggered(request) else request, options
        )
        self._compacts = ""
        """Why it is summed up, if it is."""
        self._summary: Summary | None = None
        self._then: tuple[CreateResponse, Parted] | None = None
        """What is to be asked when the summary is there."""
        self._spent: Usage | None = None
        """What the summary used."""
        chat = self._begun(request)
        self.ask = chat.body
        """Forgotten at the beginning of the answer: it may be long, and so may the answer take."""
        self._asked = 0
        self.warnings = tuple(chat.warnings)
        self._dropped_tools = len(self._table.warnings)
        self._usage_is_estimated = False
        seal = seal_for(request, options, model, FORM)
        self._reader = self._read_by = ChunkReader(
            think_tags=options.model.think_tags, logprobs=wants_logprobs(request), keeps=seal is not None
        )
        if self._compacts:
            self._reader = ChunkReader(think_tags=True)
        self._hides_reasoning = options.model.reasoning == "on_request" and not _wants_reasoning(request)
        self._emitter = Emitter(
            opening_response(request, id=identity.id, created_at=identity.created_at),
            carriers=self._table,
            mint=mint,
            now=now,
            raw_reasoning=options.model.reasoning == "text",
            for_codex=for_codex,
            seal=seal,
        )

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        return self._emitter.over

    @property
    def problem(self) -> Problem | None:
        """Why it failed."""
        return self._emitter.problem

    @property
    def notes(self) -> dict[str, Any]:
        """For the log: calls against the client's `tool_choice`, estimated usage, what could not be told."""
        notes: dict[str, Any] = {"dropped_tools": self._dropped_tools} if self._dropped_tools else {}
        if self._emitter.ruled_out:
            notes["ruled_out_calls"] = self._emitter.ruled_out
        if self._lacks_demanded_call:
            notes["demanded_call"] = "missing"
        if self._usage_is_estimated:
            notes["usage"] = "estimated"
        if self._compacts:
            notes["compaction"] = self._compacts
        if left_out := self._left_out:
            notes["citations_left_out"] = left_out
        if self._reader.wordless_sound:
            notes["sound_left_out"] = True
        return notes

    @property
    def length(self) -> int:
        """How many tokens the ask has, roughly. It is known until the answer begins."""
        return tokens_of(self.ask)

    @property
    def late_warnings(self) -> list[ClientWarning]:
        """What was left out of the answer. In a streamed answer this stands in the last event, not in a header."""
        warnings: list[ClientWarning] = []
        if self._emitter.ruled_out:
            names = ", ".join(dict.fromkeys(self._emitter.ruled_out))
            details = f"Calls that 'tool_choice' does not allow were left out: {names}."
            warnings.append(ClientWarning("tool_choice", "calls ruled out", details))
        if self._lacks_demanded_call:
            details = "'tool_choice' demands a tool call, and the model made none that it allows."
            warnings.append(ClientWarning("tool_choice", "demanded call", details))
        if left_out := self._left_out:
            details = f"Citations without an address or a place in the text were left out: {left_out}."
            warnings.append(ClientWarning("output", "citations", details))
        if self._reader.wordless_sound:
            details = "Sound that the model made was left out: no words came with it."
            warnings.append(ClientWarning("output", "sound", details))
        return warnings

    @property
    def _lacks_demanded_call(self) -> bool:
        """Whether the answer is there without the call that the client demands. A failed one says why it failed."""
        return self.over and self.problem is None and self._table.lacks_demanded_call

    @property
    def _left_out(self) -> int:
        """How many citations."""
        return self._reader.citations.left_out + self._emitter.late_citations

    @property
    def next_size(self) -> int:
        """Bytes of the request that `go_on` translates once more; 0 where one ask is all."""
        return 0 if self._then is None else self._then[0].size

    def begin(self, sent: int = 0) -> list[Event]:
        """The first two events, unless `sent` events have been sent already. The upstream has its ask by now."""
        self._asked = self.length
        self.ask = {}
        return self._emitter.begin(sent)

    def receive(self, chunk: dict[str, Any]) -> list[Event]:
        """What the client is told of one chunk."""
        events = self._emitter.feed(self._told(self._reader.read(chunk)))
        if self._reader.held > self._options.server.max_answer_bytes and not self.over:
            events += self.fail(TOO_LONG_AN_ANSWER)
        return events

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        return self._emitter.keep_alive()

    def go_on(self) -> tuple[list[Event], dict[str, Any]] | None:
        """The upstream closed its stream: what the client is told then, and what is asked next. None: this was all."""
        if self._then is None or self._summary is None:
            return None
        summary, (request, parts) = self._summary, self._then
        events = self._emitter.feed(self._told(self._reader.rest()) + self._summary_usage() + summary.failure())
        if self.over or not summary.text:
            return events if self.over else self._emitter.end(), {}
        window = whole_window(parts, summary.text, _most_kept(request.compact_threshold))
        self._spent = summary.usage or self._estimate()
        # told at once: should the second ask fail, the first was paid for all the same
        events += self._emitter.feed([Compacted(self._sealed(window)), UsageReported(self._spent)])
        self._summary, self._then, self._reader = None, None, self._read_by
        set_up = [item for item in parts.head if item.type in SET_UP]
        items = [*set_up, *(parse_item(item, "input") for item in window.items)]
        left = request.model_copy(update={"input": items, "positions": None})
        ask = self._said(left, self._fresh_sealer()).body
        self._asked = tokens_of(ask)
        return events, ask

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        rest: list[Delta] = self._told(self._reader.rest())
        if self._summary is not None:
            rest += self._summary.failure()
            if self._summary.text:
                rest += self._summary.ending(self._sealed(Window(summary=self._summary.text)))
            rest = self._summary_usage() + rest
        uncounted = self._emitter.usage is None or self._emitter.usage is self._spent
        if uncounted and not any(isinstance(delta, UsageReported) for delta in rest):
            self._usage_is_estimated = True
            rest.insert(0, UsageReported(self._with_spent(self._estimate())))
        events = self._emitter.feed(rest)
        return events if self.over else [*events, *self._emitter.end()]

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        return self._emitter.feed(self._summary_usage()) + self._emitter.fail(problem)

    def _summary_usage(self) -> list[Delta]:
        """What a summary that is being written has used, as far as the upstream has said it."""
        usage = None if self._summary is None else self._summary.usage
        return [] if usage is None else [UsageReported(usage)]

    def _told(self, deltas: list[Delta]) -> list[Delta]:
        """What of this the client may hear. Thoughts it did not ask for it may carry sealed, and that is all."""
        if self._summary is not None:
            return self._summary.take(deltas)
        if self._spent is not None:
            deltas = [
                UsageReported(self._with_spent(delta.usage)) if isinstance(delta, UsageReported) else delta
                for delta in deltas
            ]
        if not self._hides_reasoning:
            return deltas
        return [_hidden(delta.text) if isinstance(delta, ReasoningDelta) else delta for delta in deltas]

    def _begun(self, request: CreateResponse) -> ChatBody:
        """The first ask: for a summary if nothing else is wanted or the conversation has grown too long."""
        if triggered(request):
            if self._options.sealer is None:
                raise refuse("unsupported_parameter", NO_SEAL, "input")
            if len(request.items) == 1:
                raise refuse("invalid_value", "'input' holds nothing that could be summed up.", "input")
            self._summary, self._compacts = Summary(), "asked for"
            return self._said(summing(request, request.items), self._options.sealer)
        chat = self._said(request, self._options.sealer)
        threshold = request.compact_threshold
        if threshold is None or tokens_of(chat.body) <= threshold:
            return chat
        parts = parted(request.items, threshold * CHARACTERS_PER_TOKEN // 2)
        if parts is None or (why := self._why_not(parts, threshold)):
            why = NOTHING_BEFORE if parts is None else why
            details = f"'context_management' has no effect on this conversation. {why}"
            warning = ClientWarning("context_management", "compaction", details)
            return ChatBody(chat.body, [*chat.warnings, warning])
        self._summary, self._then, self._compacts = Summary(), (request, parts), "threshold"
        return ChatBody(self._said(summing(request, parts.head), self._fresh_sealer()).body, chat.warnings)

    def _why_not(self, parts: Parted, threshold: int) -> str:
        """Why a conversation that can be parted cannot be summed up; empty if it can."""
        if self._options.sealer is None:
            return NO_SEAL
        return "" if fits_a_window(parts, _most_kept(threshold)) else TOO_MANY

    def _fresh_sealer(self) -> Sealer | None:
        """For reading the request once more."""
        return None if self._options.sealer is None else self._options.sealer.fresh()

    def _said(self, request: CreateResponse, sealer: Sealer | None) -> ChatBody:
        options = replace(self._options, sealer=sealer)
        built = build(request, rules=options, model=self._model, state_form=FORM, table=self._table)
        ask = encode(built.prompt, model=self._model, options=options)
        return ChatBody(ask.body, built.warnings + ask.warnings)

    def _sealed(self, window: Window) -> str:
        assert self._options.sealer is not None  # noqa: S101 — our own misuse: nothing was summed up without
        return sealed_window(window, self._options.sealer)

    def _with_spent(self, usage: Usage) -> Usage:
        return usage if self._spent is None else together(self._spent, usage)

    def _estimate(self) -> Usage:
        said = -(-self._reader.said // CHARACTERS_PER_TOKEN)
        return Usage(input_tokens=self._asked, output_tokens=said, total_tokens=self._asked + said, estimated=True)


def _most_kept(threshold: int | None) -> int:
    """How many characters of what the user said are kept beside a summary: a quarter of the room there is."""
    return min(KEPT, (threshold or 0) * CHARACTERS_PER_TOKEN // 4)


def _wants_reasoning(request: CreateResponse) -> bool:
    summary = None if request.reasoning is None else request.reasoning.summary
    return summary is not None or "reasoning.encrypted_content" in request.include


def _hidden(text: str) -> ProviderStateAdded:
    """Reasoning that the client is not shown, for the upstream that wrote it."""
    return ProviderStateAdded({HIDDEN: [text]} if text else {})
