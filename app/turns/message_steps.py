"""A turn whose model may be asked again: with the results of searches, or for calls that do not match their grammar.

Each message has a pump of its own, and all of them make the events of one response. What a search may cost is bounded
in `dialects/search_loop.py` (how many) and in `searching` (how long); calls are asked for once more at most. The time
limit of the turn is one for all messages.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final, TypeAlias

from ..bridges.input_patterns import InputFault
from ..catalogue import Route
from ..dialects.call_correction import CallCorrection
from ..dialects.prompt_turn import PromptTurn
from ..dialects.search_calls import FoundPage, SearchOutput, WantedSearch
from ..dialects.search_loop import SearchLoop
from ..emitter.rules import StopReason
from ..new_turns import AnyTurn, TranslatedTurn
from ..off_loop import off_loop
from ..prompt.build import WEB_SEARCH
from ..prompt.prompt_rules import PromptRules
from ..protocol.events import Event
from ..protocol.problems import Problem, ProblemError
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.tool_items import ToolsItem
from ..protocol.response import NOTHING_SENT, Sent
from ..searching.backends import Query
from ..searching.opened_pages import PageFailedError
from ..searching.searcher import Searcher, told
from .asks import Asks
from .attempts import first_payload
from .failures import SILENT
from .grammar_checks import GrammarChecks
from .pump import Pump
from .summary_first import SummaryFirst
from .turn_protocols import Answer

UNKNOWN_PAGE: Final = (
    "The page was not opened. Only addresses that a search has found, that a page which was opened links to, or that "
    "are in the conversation are opened, letter by letter."
)
Faults: TypeAlias = Sequence[InputFault | None]


class _BetweenMessages:
    """What the client is sent while searches run and the model is asked again.

    If it cannot be asked for other calls, the client gets those that were held back.
    """

    def __init__(self, turn: TranslatedTurn) -> None:
        self._turn = turn

    @property
    def over(self) -> bool:
        """Whether the last event has been made."""
        return self._turn.over

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        return self._turn.problem

    def begin(self) -> list[Event]:
        """Nothing: the response has begun."""
        return []

    def keep_alive(self) -> list[Event]:
        """A keep-alive event."""
        return self._turn.keep_alive()

    def fail(self, problem: Problem) -> list[Event]:
        """Ends the turn: with this problem, or with calls that were held back."""
        loop = self._turn.loop
        return self._turn.finish(loop) if isinstance(loop, CallCorrection) else self._turn.fail(problem)

    def stop(self, reason: StopReason) -> list[Event]:
        """Ends the turn because its client wants that."""
        return self._turn.stop(reason)

    def next_number(self) -> int:
        """The number of an event that is made elsewhere."""
        return self._turn.next_number()

    def hand_over(self) -> Sent:
        """Nothing: the same turn goes on."""
        return NOTHING_SENT


class MessageSteps:
    """Runs a turn of several messages. It has the methods of a pump."""

    def __init__(  # noqa: PLR0913 — all of them are named where it is made
        self,
        steps: Pump | SummaryFirst,
        asks: Asks,
        request: CreateResponse,
        searcher: Searcher | None,
        checks: GrammarChecks,
        *,
        answered: Callable[[], None],
        request_id: str,
    ) -> None:
        """`answered` is called when the model has answered for the last time."""
        self._steps: Pump | SummaryFirst = steps
        self._asks = asks
        self._request = request
        self._searcher = searcher
        self._checks = checks
        self._answered = answered
        self._request_id = request_id
        self._outputs: _Outputs | None = None
        self._interrupted: Problem | None = None
        self._stop_reason: StopReason | None = None
        self._is_steered = False
        self._started_at = steps.started_at

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        return self._steps.problem

    def ended_with(self, problem: Problem) -> bool:
        """Whether this is why the turn failed, or was refused."""
        return self._steps.ended_with(problem)

    async def open(self, patience: float) -> None:
        """Waits for the first payload, as `Pump.open` does."""
        await self._steps.open(patience)

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Events of all messages; the last batch holds the last event."""
        while True:
            async with aclosing(self._steps.batches()) as batches:
                async for batch in batches:
                    yield batch
            turn = turn_of_messages(self._asks.turn)
            if turn is None or not turn.is_waiting:
                return
            await self._steps.close()
            faults: Faults = []
            if isinstance(turn.loop, CallCorrection):
                inputs = await off_loop(turn.loop.size, turn.loop.inputs)
                faults = await self._checks.faults(turn.table.checks, inputs)
                if not any(fault is not None and fault.is_mismatch for fault in faults):
                    self._answered()
                    yield turn.finish(turn.loop)
                    return
            turn.is_waiting = False
            self._steps = self._next(turn, faults)
            if self._interrupted is not None:
                self._steps.interrupt(self._interrupted)
            if self._stop_reason is not None:
                self._steps.stop(self._stop_reason)
            elif self._is_steered:
                self._steps.stop_at_boundary()

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, unless the answer is complete. No further message begins."""
        self._interrupted = problem
        self._steps.interrupt(problem)

    def stop(self, reason: StopReason) -> None:
        """Ends the turn because its client wants that. No further message begins."""
        self._stop_reason = reason
        self._steps.stop(reason)

    def stop_at_boundary(self) -> None:
        """Ends the turn as steered, as soon as no item is open; no further message begins."""
        self._is_steered = True
        if isinstance(self._steps, Pump):
            self._steps.stop_at_boundary()

    @property
    def can_be_steered(self) -> bool:
        """Whether it can end before its next item: not if it may begin with a summary."""
        return isinstance(self._steps, Pump)

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, as `Pump.insert` does."""
        self._steps.insert(event)

    @property
    def is_ending(self) -> bool:
        """Whether it is being ended, or the last message is over."""
        turn = turn_of_messages(self._asks.turn)
        goes_on = turn is not None and turn.loop is not None and (turn.is_waiting or turn.loop.wants_more)
        return self._stop_reason is not None or (self._steps.is_ending and not goes_on)

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        await self._steps.close()

    def _next(self, turn: TranslatedTurn, faults: Faults) -> Pump:
        async def ask() -> Answer:
            route, loop = self._asks.route, turn.loop
            assert loop is not None  # noqa: S101 — our own misuse
            if isinstance(loop, CallCorrection):
                following = await off_loop(max(turn.size, loop.size), loop.go_on, faults)
            else:
                outputs = await self._found(loop, route.fetched_for, turn.size)
                following = await off_loop(turn.size, loop.go_on, outputs)
            await off_loop(turn.size, turn.go_on, *following)
            self._asks.again(self._request)
            answer = await first_payload([route], turn, _no_other, self._asks)
            self._asks.answered()
            if not loop.may_go_on:
                self._answered()
            return answer

        return Pump(
            _BetweenMessages(turn),
            ask,
            clocks=lambda: self._asks.clocks,
            client=self._asks.direct_client,
            request_id=self._request_id,
            started_at=self._started_at,
        )

    async def _found(self, loop: SearchLoop, owner: str, size: int) -> list[SearchOutput]:
        """The outputs of the calls of this message. `size`: bytes of the request."""
        if self._outputs is None:
            assert self._searcher is not None  # noqa: S101 — our own misuse
            self._outputs = _Outputs(loop, self._searcher, owner)
        return await self._outputs.made(size)


def turn_of_messages(turn: AnyTurn) -> TranslatedTurn | None:
    """The turn, if its model may be asked again."""
    return turn if isinstance(turn, PromptTurn) and turn.loop is not None else None


def offers_search(request: CreateResponse) -> bool:
    """Whether the client offers a search, which its model or this server may run."""
    later = [tool for item in request.items if isinstance(item, ToolsItem) for tool in item.tools]
    return any(tool.type.startswith(WEB_SEARCH) for tool in (*request.tools, *later))


async def _no_other(_route: Route) -> AnyTurn:
    """No other turn can continue the answer."""
    raise ProblemError(SILENT)


class _Outputs:
    """Makes the outputs of the calls with which the model of one turn searches and opens pages."""

    def __init__(self, loop: SearchLoop, searcher: Searcher, owner: str) -> None:
        self._loop = loop
        self._searcher = searcher
        self._owner = owner
        self._pages = searcher.pages(owner, loop.search.domains, loop.search.blocked)

    async def made(self, size: int) -> list[SearchOutput]:
        """The outputs of all calls of this message. `size`: bytes of the request."""
        return await asyncio.gather(*[self._output(wanted, size) for wanted in self._loop.wanted()])

    async def _output(self, wanted: WantedSearch, size: int) -> SearchOutput:
        if wanted.refusal:
            return SearchOutput(wanted.refusal, failed=True)
        return await self._opened(wanted, size) if wanted.page else await self._found(wanted)

    async def _found(self, wanted: WantedSearch) -> SearchOutput:
        search = self._loop.search
        most = max(1, min(20, round(self._searcher.most_results * search.share)))
        query = Query(wanted.query, most, wanted.days, search.domains, search.blocked)
        found, failure = await self._searcher.found(query, self._owner)
        if failure:
            return SearchOutput(failure, failed=True)
        return SearchOutput(told(query.text, found), [FoundPage(*each) for each in found])

    async def _opened(self, wanted: WantedSearch, size: int) -> SearchOutput:
        if not await off_loop(size, self._loop.knows, wanted.page):
            self._searcher.count("open_page", "refused")
            return SearchOutput(UNKNOWN_PAGE, failed=True)
        try:
            most = self._loop.search.page_characters
            text, page = await self._searcher.opened(
                self._pages, wanted.page, line=wanted.line, words=wanted.words, most=most
            )
        except PageFailedError as error:
            return SearchOutput(str(error), failed=True)
        urls = dict.fromkeys((wanted.page, page.url))
        return SearchOutput(text, [FoundPage(url, page.title or page.url) for url in urls])


def may_be_corrected(ways: Sequence[Route]) -> bool:
    """Whether a model of these routes is asked again for calls that do not match their grammar."""
    options = [way.entry.options for way in ways]
    return any(isinstance(each, PromptRules) and each.model.grammars == "ask_again" for each in options)
