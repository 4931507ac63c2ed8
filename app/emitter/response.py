"""The response as a whole: its first state, which repeats the request, and the lifecycle events."""

import time
from itertools import count

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..types import events as e
from ..types.json import Json
from ..types.problems import Problem
from ..types.request import JsonSchemaFormat, PlainFormat, ReasoningConfig, Request
from ..types.response import Compaction, IncompleteDetails, OutputItem, Response, ResponseError, Usage, new_id
from .rules import ENDINGS, FOR_CODEX, Ending

_FUNCTION: Json = {"description": None, "parameters": None, "strict": None}
"""Keys of a function that are null where the client gave nothing, never absent."""
_REPEATED = (
    "model", "instructions", "frequency_penalty", "presence_penalty", "temperature", "top_p", "top_logprobs",
    "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
    "prompt_cache_key", "safety_identifier", "tool_choice", "truncation",
)  # fmt: skip
"""What the response repeats as it was posted."""
_TIERS = frozenset({"auto", "default", "flex", "priority", "scale"})


class Lifecycle:
    """The lifecycle events of one response, and the numbers of all its events."""

    def __init__(self, request: Request, *, for_codex: bool = False) -> None:
        self.for_codex = for_codex
        self.endings = FOR_CODEX if for_codex else ENDINGS
        self.response = opening_response(request)
        self.number = count().__next__
        self.begun = False
        self._before: list[OutputItem] = []
        """Items that were sent before the model's answer."""
        self.used_before: Usage | None = None
        """What was used for them."""

    @property
    def next_index(self) -> int:
        """The index of the first item of the model's answer."""
        return len(self._before)

    def begin(self) -> e.Events:
        """The first two events."""
        self.begun = True
        return [
            e.ResponseCreated(sequence_number=self.number(), response=self.response),
            e.ResponseInProgress(sequence_number=self.number(), response=self.response),
        ]

    def in_progress(self, output: list[OutputItem]) -> e.Event:
        """The second event again, with the finished items: a sign of life."""
        response = replace(self.response, output=[*self._before, *output])
        return e.ResponseInProgress(sequence_number=self.number(), response=response)

    def add(self, item: Compaction) -> e.Events:
        """An item before the model's answer."""
        index = self.next_index
        self._before.append(item)
        added = e.OutputItemAdded(sequence_number=self.number(), output_index=index, item=Compaction(id=item.id))
        return [added, e.OutputItemDone(sequence_number=self.number(), output_index=index, item=item)]

    def used(self, usage: Usage | None) -> Usage | None:
        """What was used for the whole response, with this usage of the model's answer."""
        return self.used_before if usage is None else usage.plus(self.used_before)

    def last(
        self, ending: Ending, output: list[OutputItem], usage: Usage | None, problem: Problem | None = None
    ) -> e.LastEvent:
        """The last event. `problem` is why the response failed, if it did."""
        response = replace(
            self.response,
            status=ending.status,
            completed_at=int(time.time()) if ending.status == "completed" else None,
            incomplete_details=None if ending.details is None else IncompleteDetails(reason=ending.details),
            error=None if problem is None else _error(problem),
            output=[*self._before, *output],
            usage=self.used(usage),
        )
        return ending.event(sequence_number=self.number(), response=response)


def _error(problem: Problem) -> ResponseError:
    code, param = problem.failed_code, problem.param or UNSET
    return ResponseError(code=code, message=problem.failed_message, type=problem.type, param=param)


def opening_response(request: Request) -> Response:
    """The response before the model has written anything."""
    text: Json = {"format": msgspec.to_builtins(request.text.format or PlainFormat())}
    if isinstance(request.text.format, JsonSchemaFormat):
        text["format"]["strict"] = request.text.format.strict is True
    if request.text.verbosity is not None:
        text["verbosity"] = request.text.verbosity
    return Response(
        id=new_id("resp"),
        created_at=int(time.time()),
        reasoning=None if request.reasoning is None else _reasoning(request.reasoning),
        service_tier=request.service_tier if request.service_tier in _TIERS else "default",
        text=text,
        tools=[{**_FUNCTION, **tool} if tool.get("type") == "function" else tool for tool in request.tools],
        **{name: value for name in _REPEATED if (value := getattr(request, name)) is not None},
    )


def _reasoning(asked: ReasoningConfig) -> Json:
    told: Json = {"effort": asked.effort, "summary": asked.wanted_summary}
    if asked.context is not None:  # without a word of the client, all turns are sent
        told["context"] = "current_turn" if asked.context == "current_turn" else "all_turns"
    return told
