"""One response of a server that has the Responses API itself: its events are passed on, and missing ones supplied.

Every event is the server's own, unknown ones included, with three changes: its number, because signs of life are added
between; the model's name, which is the public one; and a mark before what the server sealed. Events of our own:

    before its first event    `created` and `in_progress`, if a sign of life is due: the server's are then left out, and
                              its response keeps the members that were sent
    while it is silent        an empty delta of what is growing, otherwise `in_progress` again
    it broke, was cut or      open messages and reasoning are closed as incomplete, calls are dropped;
    sent an `error`           `response.failed`, made of the last response that it sent
    its last response lacks   the items that were done
    items, or alone has some  their beginning and end, if the answer is complete
"""

import time
from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec
from msgspec.structs import replace

from ...emitter.response import Lifecycle
from ...emitter.rules import CUT, CUT_IN_A_CALL, Ending, Kind, Reason
from ...history.sealing import Sealer
from ...prompt.nouns import Model
from ...tools.choice import NO_CALL, demands_call
from ...types.events import Event, Events, Relayed, RelayedLast
from ...types.json import Json, as_object, is_object
from ...types.problems import STATUS, Problem
from ...types.redact import cleaned
from ...types.request import Request
from ...types.response import IncompleteDetails, Usage
from .body import body_of, marked
from .items import DONE, PROSE, Items, without_refusals

LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
_REASONS: dict[str, Reason] = {"completed": "end", "incomplete": "length", "failed": "failure"}
"""The row of the table of endings for each status, the worst at the end."""
_MOVING = frozenset({"status", "completed_at", "error", "incomplete_details", "output", "usage"})
"""The members that may differ between the response objects of one stream."""
_NO_WORDS = "The model's server reported an error while it answered."


class RelayExchange:
    """The body for the server, and the events for each of its events. It is its own emitter."""

    def __init__(self, request: Request, model: Model, lifecycle: Lifecycle, sealer: Sealer | None) -> None:
        """Raises `ProblemError` for what no server may be asked."""
        self.model = model
        self.body, self.warnings = body_of(request, model, sealer)
        self.emitter = self
        self.usage: Usage | None = None
        self.problem: Problem | None = None
        self.over = False
        self._demands_call = demands_call(request.choice)
        self._lifecycle = lifecycle
        self._items = Items()
        self._response: Json = {}
        """As it was sent last."""
        self._began_it = False
        """Whether the first events were ours."""
        self._talks = False
        """Whether `in_progress` was sent."""
        self._growing: Json = {}
        """The last event, if it was a delta."""
        self._cut_call = False
        """Whether the end of a call that a limit cut was not sent."""

    @property
    def late_warnings(self) -> Sequence[str]:
        """What is wrong with the whole answer."""
        lacks_call = self._demands_call and not any(str(item.get("type")).endswith("_call") for item in self.output)
        return [NO_CALL] if lacks_call and self.over and self.problem is None else []

    @property
    def output(self) -> list[Any]:
        """The finished items."""
        return self._items.done

    def receive(self, event: Json) -> Events:
        """The events for one event of the server."""
        if self._lifecycle.for_codex:
            event = without_refusals(event)
        name = event["type"]
        if isinstance(response := event.get("response"), dict):
            return self._of_response(name, event, response)
        events = self._opened(name)
        self._items.place(name, event)
        if name == "response.function_call_arguments.done" and not is_object(str(event.get("arguments"))):
            return events  # a limit cut the call, and careful clients run it at this event
        if isinstance(item := event.get("item"), dict):
            event["item"] = marked(item, self.model)
            is_half = item.get("status") == "incomplete" and str(item.get("type")).endswith("_call")
            if self._lifecycle.for_codex and name == DONE and is_half:  # it would run what is there
                self._cut_call = True
                return events
        self._items.keep(name, event)
        self._growing = event if isinstance(event.get("delta"), str) else {}
        return [*events, self._sent(event)]

    def sign_of_life(self) -> Events:
        """An empty delta of what is growing; otherwise `in_progress` again."""
        if self._growing:
            empty: Json = {"logprobs": []} if "logprobs" in self._growing else {}
            return [self._sent({**self._growing, "delta": "", **empty})]
        return self._opened("") or [self._in_progress()]

    def end(self) -> Events:
        """The last events, when the server closed its stream without one."""
        return self.fail(CUT)

    def fail(self, problem: Problem) -> Events:
        """The last events of a response that fails because of this problem."""
        self.problem = problem
        error = {"code": problem.failed_code, "message": problem.failed_message, "type": problem.type}
        error |= {"param": problem.param} if problem.param else {}
        return self._ended("failure", {"completed_at": None, "incomplete_details": None, "error": error})

    def stop(self, reason: Reason) -> Events:
        """The last events of a response that its client ends."""
        return self._ended(reason, {"incomplete_details": {"reason": self._lifecycle.endings[reason].details}})

    def _opened(self, name: str) -> Events:
        """The opening events that must come before this one and did not."""
        if self._response:
            is_told = self._talks or name in {"response.in_progress", "response.queued"}
            return [] if is_told else [self._in_progress()]
        events = [] if self._lifecycle.begun else self._lifecycle.begin()
        self._began_it = self._talks = True
        self._response = self._with_ours({})
        return events

    def _of_response(self, name: str, event: Json, response: Json) -> Events:
        """The events for one with the whole response."""
        events: Events = []
        if name != "response.created" or self._lifecycle.begun:
            events = self._opened(name)
        if name == "response.created":
            if self._lifecycle.begun:
                return events
            self._lifecycle.begun = True
            upstream_id = response.get("id") or self._lifecycle.response.id
            self._lifecycle.response = replace(self._lifecycle.response, id=str(upstream_id))
        else:
            self._talks = True
        self._growing = {}
        self._response = self._with_ours(response)
        if name not in LAST:
            return [*events, self._sent({**event, "response": {**self._response, "output": self.output}})]
        # some name their last event `response.completed` where the response inside is incomplete
        statuses = {name.removeprefix("response."), str(response.get("status"))}
        status = [each for each in _REASONS if each in statuses][-1]
        if status == "completed" and isinstance(output := response.get("output"), list):
            events += [sent for late in self._items.late(output) for sent in self.receive(late)]
        if status != "failed" and self._cut_call:
            return [*events, *self.fail(CUT_IN_A_CALL)]
        self.usage = _usage(response.get("usage"))
        if status == "failed":
            self.problem = self._reported()
        return [*events, *self._ended(_REASONS[status], {}, event)]

    def _with_ours(self, response: Json) -> Json:
        """The server's response with all members, the public name, and what was sent first."""
        ours = msgspec.to_builtins(self._lifecycle.response)
        told = {**ours, **response, "created_at": _seconds(response.get("created_at"), ours["created_at"])}
        kept = ours.keys() - _MOVING if self._began_it else {"id", "model"}
        if ours["previous_response_id"] is not None:  # of a websocket: the server got the whole conversation
            kept |= {"previous_response_id"}
        return {**told, **{name: ours[name] for name in kept}}

    def _reported(self) -> Problem:
        """The server's error, in words that are fit for clients."""
        key, told = self.model.upstream.api_key, as_object(self._response.get("error"))
        code = str(told.get("code") or "server_error")
        message = cleaned(str(told.get("message") or _NO_WORDS), key.get_secret_value())
        self._response["error"] = {**told, "code": code, "message": message}
        wait = 5 if code == "rate_limit_exceeded" else None
        return Problem(code if code in STATUS else "upstream_error", message, retry_after=wait)

    def _ended(self, reason: Reason, members: Json, event: Json | None = None) -> Events:
        """The events that end what is open, and the last: the server's own, or one of ours with these members."""
        ending = self._lifecycle.endings[reason]
        kind = str(ending.event.__struct_config__.tag)
        events = [*self._opened(kind), *self._closed(ending)]
        told = {**self._response, **members, "status": ending.status, "output": self.output}
        if ending.status == "completed":  # with two clocks, it could end before it began
            told["completed_at"] = max(_seconds(told["completed_at"], time.time()), told["created_at"])
        known = replace(self._lifecycle.response, status=ending.status, output=self.output, usage=self.usage)
        if isinstance(details := told["incomplete_details"], dict):
            known.incomplete_details = IncompleteDetails(reason=str(details.get("reason")))
        self.over = True
        number = self._lifecycle.number()
        body = {**(event or {}), "type": kind, "response": told, "sequence_number": number}
        return [*events, RelayedLast(sequence_number=number, response=known, body=body)]

    def _closed(self, ending: Ending) -> Events:
        """The events that end what is open: messages and reasoning as the table says, calls never."""
        events: Events = []
        for index, item in sorted(self._items.open.items()):
            outcome = ending.items[Kind.MESSAGE] if str(item.added.get("type")) in PROSE else "dropped"
            if outcome == "completed" or outcome == "incomplete":
                closing = item.close(outcome)
                self._items.keep(DONE, closing[-1])
                events += map(self._sent, closing)
            elif ending.by_client:
                told = {"type": "response.output_item.interrupted", "response_id": self._response["id"]}
                events.append(self._sent({**told, "item_id": item.added["id"], "output_index": index}))
        return events

    def _in_progress(self) -> Event:
        self._talks = True
        return self._sent({"type": "response.in_progress", "response": {**self._response, "output": self.output}})

    def _sent(self, event: Json) -> Event:
        event["sequence_number"] = number = self._lifecycle.number()
        return Relayed(sequence_number=number, body=event)


def _seconds(value: Any, otherwise: float) -> int:
    """A time in whole seconds. Some servers send fractions, or a date."""
    return int(value if isinstance(value, int | float) and isfinite(value) else otherwise)


def _usage(value: Any) -> Usage | None:
    """The usage in known members."""
    try:
        return msgspec.convert(value, Usage) if value else None
    except msgspec.ValidationError:
        return None
