"""One turn in the chat dialect: ask, reader and emitter joined."""

from collections.abc import Callable
from typing import Any

from app.bridges.table import BridgeTable
from app.dialects.chat.ask import to_chat, wants_logprobs
from app.dialects.chat.carrying import carrying, hidden, sealing
from app.dialects.chat.length import CHARACTERS_PER_TOKEN, tokens_of
from app.dialects.chat.options import ChatOptions
from app.dialects.chat.reader import ChunkReader
from app.protocol.echo import opening_response
from app.protocol.events import Event
from app.protocol.ids import Mint
from app.protocol.problems import Problem
from app.protocol.request import CreateResponse
from app.protocol.response import Usage
from app.turn.deltas import Delta, ReasoningDelta, UsageReported
from app.turn.emitter import Emitter


class ChatTurn:
    """What to ask, and what to tell the client of each chunk. Refuses (`ProblemError`) what cannot be said."""

    def __init__(
        self,
        request: CreateResponse,
        *,
        model: str,
        options: ChatOptions,
        mint: Mint,
        now: Callable[[], int],
        for_codex: bool = False,
    ) -> None:
        table = BridgeTable(
            request.tools,
            request.tool_choice,
            items=request.items,
            web_search=options.web_search,
            image_output=options.image_output,
        )
        chat = to_chat(request, model=model, table=table, options=options, carrying=carrying(options, model))
        self.ask = chat.body
        """Forgotten at the beginning of the answer: it may be long, and so may the answer take."""
        self._asked = 0
        self.warnings = [*request.warnings, *table.warnings, *chat.warnings]
        self._dropped_tools = len(table.warnings)
        self._usage_is_estimated = False
        seal = sealing(request, options, model)
        self._reader = ChunkReader(
            think_tags=options.think_tags, logprobs=wants_logprobs(request), keeps=seal is not None
        )
        self._hides_reasoning = options.reasoning_on_request and not _wants_reasoning(request)
        self._emitter = Emitter(
            opening_response(request, id=mint("resp"), created_at=now()),
            carriers=table,
            mint=mint,
            now=now,
            raw_reasoning=options.raw_reasoning,
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
        if self._usage_is_estimated:
            notes["usage"] = "estimated"
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
    def late_warnings(self) -> list[str]:
        """What of the answer could not be told. Only a client that waits for all of it can still hear of it."""
        told: list[str] = []
        if self._emitter.ruled_out:
            names = ", ".join(dict.fromkeys(self._emitter.ruled_out))
            told.append(f"Calls that 'tool_choice' does not allow were left out: {names}.")
        if left_out := self._left_out:
            told.append(f"Citations without an address or a place in the text were left out: {left_out}.")
        if self._reader.wordless_sound:
            told.append("Sound that the model made was left out: no words came with it.")
        return told

    @property
    def _left_out(self) -> int:
        """How many citations."""
        return self._reader.citations.left_out + self._emitter.late_citations

    def begin(self) -> list[Event]:
        """The first two events. The upstream has its ask by now."""
        self._asked = self.length
        self.ask = {}
        return self._emitter.begin()

    def receive(self, chunk: dict[str, Any]) -> list[Event]:
        """What the client is told of one chunk."""
        return self._emitter.feed(self._told(self._reader.read(chunk)))

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        return self._emitter.keep_alive()

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        rest: list[Delta] = self._reader.rest()
        if self._emitter.usage is None:
            self._usage_is_estimated = True
            rest.append(UsageReported(self._estimate()))
        events = self._emitter.feed(self._told(rest))
        return events if self.over else [*events, *self._emitter.end()]

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        return self._emitter.fail(problem)

    def _told(self, deltas: list[Delta]) -> list[Delta]:
        """What of this the client may hear. Thoughts it did not ask for it may carry sealed, and that is all."""
        if not self._hides_reasoning:
            return deltas
        return [hidden(delta.text) if isinstance(delta, ReasoningDelta) else delta for delta in deltas]

    def _estimate(self) -> Usage:
        said = -(-self._reader.said // CHARACTERS_PER_TOKEN)
        return Usage(input_tokens=self._asked, output_tokens=said, total_tokens=self._asked + said, estimated=True)


def _wants_reasoning(request: CreateResponse) -> bool:
    summary = None if request.reasoning is None else request.reasoning.summary
    return summary is not None or "reasoning.encrypted_content" in request.include
