"""Compares the prompt of a turn with earlier ones of the same caller: what changed first, so that a cache missed it.

Only prompts that are remembered anyway can be compared: those in the inspector's ring buffer, and the last one of a
websocket. Fingerprints of them are kept, no text.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ..catalogue import Route
from ..json_text import json_bytes, json_value
from ..new_turns import AnyTurn
from ..off_loop import off_loop
from ..prompt_cache.cache_diagnostics import diagnostics, not_found, unavailable
from ..prompt_cache.fingerprint import Fingerprint, fingerprint
from ..prompt_cache.first_change import Change, continued, first_change
from ..protocol.events import Event, LastEvent, RelayedLast
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.summaries import SUMMARY_TYPES
from ..protocol.warnings import ClientWarning
from .log import TurnLog

log = logging.getLogger("am_proxy")

PARAM: Final = "prompt_cache_options.comparison_response_id"
NOTHING_KEPT: Final = (
    f"'{PARAM}' has no effect here: this server keeps nothing between requests. It can compare the prompts of turns "
    "over one websocket, or those that the inspector keeps (`watch`)."
)
UNCHANGED: Final = "nothing changed at the beginning of the prompt"
NO_RESPONSE: Final = f"'{PARAM}' has no effect here: the answer is a summary alone."
NOT_COMPARED: Final = "This request was not sent to a model, or its prompt is not known."
UNKNOWN: Final = (
    "No prompt of this response is known here. The last response of a websocket is, and for callers with the same key "
    "those that the inspector keeps (`watch`)."
)
NO_ANSWER: Final = "The response failed, so its tokens are not known."


class KnownPrompt(NamedTuple):
    """The prompt of a response, as it is remembered."""

    response_id: str
    request_id: str
    key: str | None
    """The client's `prompt_cache_key`: requests of one conversation usually have the same one."""
    fingerprint: Fingerprint


class ComparedPrompt(NamedTuple):
    """What changed first between two prompts."""

    since: str
    """The request id of the earlier one."""
    change: Change | None
    """None if the later one begins with all of it."""


class KeptPrompts(Protocol):
    """Prompts of turns that are kept, such as the inspector's ring buffer."""

    def prompts_of(self, owner: str) -> Sequence[KnownPrompt]:
        """Those of this owner, oldest first."""
        ...

    def keep_prompt(self, owner: str, prompt: KnownPrompt, compared: ComparedPrompt | None) -> None:
        """Keeps one more, as long as its turn is kept, with what changed in it."""
        ...


class PromptMemory(Protocol):
    """A websocket's memory."""

    @property
    def prompts(self) -> Sequence[KnownPrompt]:
        """The prompts of the responses that it knows; that of the conversation's last one comes last."""
        ...


class PromptComparison:
    """Compares the prompt of one turn, and remembers it."""

    def __init__(
        self,
        request: CreateResponse,
        turn_log: TurnLog,
        owner: str,
        *,
        kept: KeptPrompts | None = None,
        memory: PromptMemory | None = None,
    ) -> None:
        options = request.prompt_cache_options
        self._wanted = None if options is None else options.comparison_response_id
        self._log = turn_log
        self._owner = owner
        self._kept = kept
        self._remembers = kept is not None or memory is not None
        self._remembered: Sequence[KnownPrompt] = () if memory is None else memory.prompts
        self._previous = request.previous_response_id
        self._key = request.prompt_cache_key
        self._summaries = sum(item.type in SUMMARY_TYPES for item in request.items) if self._remembers else 0
        self._fingerprint: Fingerprint | None = None
        self._compared: ComparedPrompt | None = None
        self._result: Change | str | None = NOT_COMPARED
        """The comparison that the client wants: what changed, or why it is not known."""
        self.prompt: KnownPrompt | None = None
        """The prompt, once the response is complete."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self._remembers or self._wanted is not None

    def warned(self, request: CreateResponse) -> CreateResponse:
        """The request, with a warning if the client wants what cannot be known."""
        if self._wanted is None or (self._remembers and not request.summary_only):
            return request
        details = NO_RESPONSE if request.summary_only else NOTHING_KEPT
        warning = ClientWarning(PARAM, "prompt cache comparison", details)
        return request.model_copy(update={"warnings": (*request.warnings, warning)})

    async def asked(self, route: Route, turn: AnyTurn) -> None:
        """Compares the prompt that this upstream is about to be sent."""
        if not self._remembers:
            return
        known = () if self._kept is None else self._kept.prompts_of(self._owner)
        if self._remembered:
            ids = {each.response_id for each in self._remembered}
            known = (*(each for each in known if each.response_id not in ids), *self._remembered)
        try:
            await off_loop(turn.size, self._compare, turn, route, known)
        except Exception:  # no error of it may end the turn
            log.exception("the prompt could not be compared", extra={"request_id": self._log.request_id})

    async def watch(self, batches: AsyncGenerator[list[Event]]) -> AsyncIterator[list[Event]]:
        """The same batches, with what the client wants to know in the last event."""
        async with aclosing(batches):
            async for batch in batches:
                last = batch[-1] if batch else None
                if isinstance(last, LastEvent | RelayedLast):
                    batch[-1] = self._finished(last)
                yield batch

    def summarized(self) -> None:
        """Called when the conversation was summarized in this turn."""
        self._summaries += 1

    def unsent(self, events: list[Event]) -> list[Event]:
        """The events of a request that is not sent to a model."""
        *first, last = events
        if self._wanted is None or not isinstance(last, LastEvent):
            return events
        return [*first, _with_diagnostics(last, unavailable(NOT_COMPARED))]

    def _finished(self, last: LastEvent | RelayedLast) -> Event:
        """The last event with what the client wants to know. From now on the prompt is known."""
        if self._fingerprint is not None and last.response.status != "failed":
            self.prompt = KnownPrompt(_id_of(last), self._log.request_id, self._key, self._fingerprint)
            if self._kept is not None:
                self._kept.keep_prompt(self._owner, self.prompt, self._compared)
        return last if self._wanted is None else _with_diagnostics(last, self._diagnostics(last))

    def _compare(self, turn: AnyTurn, route: Route, known: Sequence[KnownPrompt]) -> None:
        prefix = turn.prefix
        model = route.entry.model or route.model
        now = self._fingerprint = fingerprint(
            prefix, upstream=route.entry.upstream_name, model=model, summaries=self._summaries
        )
        if self._wanted is not None:
            before = _by_id(known, self._wanted)
            self._result = UNKNOWN if before is None else first_change(before.fingerprint, now, prefix)
        if before := self._before(now, known):
            change = first_change(before.fingerprint, now, prefix)
            self._compared = ComparedPrompt(before.request_id, change)
            self._log.note(prompt_since=before.request_id, prompt_change=UNCHANGED if change is None else change.words)

    def _before(self, now: Fingerprint, known: Sequence[KnownPrompt]) -> KnownPrompt | None:
        """The turn before this one in its conversation, as far as that can be told."""
        if self._previous is not None and (before := _by_id(known, self._previous)):
            return before
        same = [each for each in known if self._key is not None and each.key == self._key]
        found = continued(now, [(each, each.fingerprint) for each in same or known])
        return found[0] if found is not None else (same[-1] if same else None)

    def _diagnostics(self, last: LastEvent | RelayedLast) -> dict[str, Any]:
        if not self._remembers:
            return unavailable(NOTHING_KEPT)
        if self._result is UNKNOWN:
            return not_found(UNKNOWN)
        if isinstance(self._result, str):
            return unavailable(self._result)
        usage = last.response.usage
        if usage is None or last.response.status == "failed":
            return unavailable(NO_ANSWER)
        cached = usage.input_tokens_details.cached_tokens
        return diagnostics(self._result, input_tokens=usage.input_tokens, cached_tokens=cached)


class _Identified(msgspec.Struct):
    id: str = ""


def _by_id(known: Sequence[KnownPrompt], response_id: str) -> KnownPrompt | None:
    return next((each for each in reversed(known) if each.response_id == response_id), None)


def _id_of(last: LastEvent | RelayedLast) -> str:
    if isinstance(last, LastEvent):
        return last.response.id
    try:
        return msgspec.json.decode(last.body, type=_Identified).id
    except msgspec.DecodeError:
        return ""


def _with_diagnostics(last: LastEvent | RelayedLast, found: dict[str, Any]) -> Event:
    if isinstance(last, LastEvent):
        response = msgspec.structs.replace(last.response, prompt_cache_diagnostics=found)
        return msgspec.structs.replace(last, response=response)
    event = json_value(last.data)
    response = event.get("response")
    if not isinstance(response, dict) or response.get("prompt_cache_diagnostics") is not None:
        return last  # the upstream has answered it
    response["prompt_cache_diagnostics"] = found
    return msgspec.structs.replace(last, data=json_bytes(event), body=json_bytes(response))
