"""The events that carry the whole response: the first two, the one that shows it is alive, and the last."""

from collections.abc import Callable

from msgspec.structs import replace

from app.emitter.rules import EndingRule
from app.protocol import events as e
from app.protocol.output_items import OutputItem
from app.protocol.problems import Problem
from app.protocol.response import Response, ResponseError, Usage


class Lifecycle:
    """One response, as it was opened. `next_number` and `now` are asked when an event is made."""

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
        """The second event once more, with what is finished."""
        response = replace(self._response, output=output)
        return e.ResponseInProgress(sequence_number=self._next_number(), response=response)

    def last(
        self, rule: EndingRule, *, output: list[OutputItem], usage: Usage | None, problem: Problem | None = None
    ) -> e.Event:
        """The last event. `problem` is why the response failed, if it did."""
        response = replace(
            self._response,
            status=rule.status,
            completed_at=self._now() if rule.status == "completed" else None,
            incomplete_details=rule.incomplete_details,
            error=None
            if problem is None
            else ResponseError(code=problem.shape.failed_code, message=problem.failed_message),
            output=output,
            usage=usage,
        )
        return rule.event(sequence_number=self._next_number(), response=response)
