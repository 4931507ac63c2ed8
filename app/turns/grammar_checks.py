"""Holds the inputs of custom tools against their Lark grammars, before the last event of a turn is sent."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from ..bridges.input_checks import InputChecks
from ..dialects.prompt_turn import PromptTurn
from ..dialects.responses.relay import RelayTurn
from ..grammars.grammar_checker import GrammarChecker
from ..new_turns import AnyTurn
from ..protocol.events import Event, is_last
from .asks import Asks

SECONDS: Final = 2.0
"""For all checks of an answer."""


class GrammarChecks:
    """The checks of one turn."""

    def __init__(self, asks: Asks, checker: GrammarChecker, owner: str) -> None:
        """`owner` is the caller whose turn it is."""
        self._asks = asks
        self._checker = checker
        self._owner = owner

    async def watch(self, batches: AsyncGenerator[list[Event]]) -> AsyncGenerator[list[Event]]:
        """The same batches. Before the last one the calls are checked, so that its warnings are complete."""
        async with aclosing(batches):
            async for batch in batches:
                checks = _checks_of(self._asks.turn) if is_last(batch) else None
                if checks is not None and checks.lark_inputs:
                    await self._check(checks)
                yield batch

    async def _check(self, checks: InputChecks) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + SECONDS
        while checks.lark_inputs:
            each = checks.lark_inputs.pop(0)
            left = max(0.0, end - loop.time())
            if fault := await self._checker.fault(each.grammar, each.text, self._owner, left):
                checks.tell(each, fault)


def _checks_of(turn: AnyTurn) -> InputChecks | None:
    table = turn.table if isinstance(turn, PromptTurn | RelayTurn) else None
    return None if table is None else table.checks
