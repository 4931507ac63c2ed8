"""The events that hold the response object: the first two, the keep-alive, and the last."""

from collections.abc import Callable, Mapping
from itertools import count

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..protocol import events as e
from ..protocol.output_items import OutputItem
from ..protocol.problems import Problem
from ..protocol.response import (
    CacheWriteDetails,
    InputTokensDetails,
    OutputTokensDetails,
    Response,
    ResponseError,
    SearchUsage,
    ToolUsage,
    Usage,
)
from .emitted_items import EmittedItems
from .rules import ENDINGS, EndingRule, Outcome


class Lifecycle:
    """Makes the lifecycle events of one response. `next_number` and `now` are called when an event is made."""

    def __init__(self, response: Response, *, next_number: Callable[[], int], now: Callable[[], int]) -> None:
        self._response = response
        self._next_number = next_number
        self._now = now

    def begin(self) -> list[e.Event]:
        """The first two events."""
        return [
            e.ResponseCreated(sequence_number=self._next_number(), response=self._response),
            e.ResponseInProgress(sequence_number=self._next_number(), response=self._response),
        ]

    def in_progress(self, output: list[OutputItem]) -> e.Event:
        """The second event again, with the finished items."""
        response = replace(self._response, output=output)
        return e.ResponseInProgress(sequence_number=self._next_number(), response=response)

    def given_up(self, items: EmittedItems, outcomes: Mapping[int, Outcome]) -> list[e.Event]:
        """The events of the open items that the client has seen and that are dropped."""
        dropped = [index for index, outcome in outcomes.items() if outcome == "dropped"]
        seen = [items.open[index] for index in dropped if index not in items.unannounced]
        event, response_id = e.OutputItemInterrupted, self._response.id
        return [item.position.within(event, response_id=response_id) for item in seen]

    def last(
        self,
        rule: EndingRule,
        *,
        output: list[OutputItem],
        usage: Usage | None,
        searches: int = 0,
        problem: Problem | None = None,
    ) -> e.Event:
        """The last event. `problem` is why the response failed, if it did."""
        response = replace(
            self._response,
            status=rule.status,
            completed_at=self._now() if rule.status == "completed" else None,
            incomplete_details=rule.incomplete_details,
            error=None if problem is None else reported_error(problem),
            output=output,
            tool_usage=ToolUsage(web_search=SearchUsage(num_requests=searches)) if searches else UNSET,
            usage=usage,
        )
        return rule.event(sequence_number=self._next_number(), response=response)


def reported_error(problem: Problem) -> ResponseError:
    """The error of a response that failed because of this problem."""
    shape = problem.shape
    return ResponseError(
        code=shape.failed_code, message=problem.failed_message, type=shape.type, param=problem.param or UNSET
    )


def prepared(response: Response, *, completed_at: int) -> list[e.Event]:
    """All events of a response without a model: its request is only stored for a turn that continues it."""
    lifecycle = Lifecycle(response, next_number=count().__next__, now=lambda: completed_at)
    no_usage = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
    return [*lifecycle.begin(), lifecycle.last(ENDINGS["end"], output=[], usage=no_usage)]


def used_together(one: Usage | None, other: Usage | None) -> Usage | None:
    """The sum of the usage of two asks. None if neither has one."""
    if one is None or other is None:
        return other if one is None else one
    both = replace(
        other,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
        input_tokens_details=_input_details(one.input_tokens_details, other.input_tokens_details),
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=one.output_tokens_details.reasoning_tokens + other.output_tokens_details.reasoning_tokens
        ),
    )
    return replace(both, estimated=True) if one.estimated is True else both


def _input_details(one: InputTokensDetails, other: InputTokensDetails) -> InputTokensDetails:
    return InputTokensDetails(
        cached_tokens=one.cached_tokens + other.cached_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        cache_write_tokens_details=_written(one.cache_write_tokens_details, other.cache_write_tokens_details),
    )


def _written(one: CacheWriteDetails | UnsetType, other: CacheWriteDetails | UnsetType) -> CacheWriteDetails | UnsetType:
    if isinstance(one, UnsetType) or isinstance(other, UnsetType):
        return other if isinstance(one, UnsetType) else one
    return CacheWriteDetails(
        ttl_30m_tokens=one.ttl_30m_tokens + other.ttl_30m_tokens,
        ttl_12h_tokens=one.ttl_12h_tokens + other.ttl_12h_tokens,
    )
