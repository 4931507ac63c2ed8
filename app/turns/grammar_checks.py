"""Holds the inputs of custom tools against their grammars: at the end of a turn, or before its model is asked again."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

from ..bridges.input_checks import TOO_MANY, CallInput, InputChecks
from ..bridges.input_patterns import InputFault
from ..bridges.table import BridgeTable
from ..grammars.grammar_checker import GrammarChecker
from ..new_turns import AnyTurn
from ..protocol.events import Event, is_last
from .asks import Asks

SECONDS: Final = 2.0
"""For all checks of an answer, as long as it is not asked again."""


class GrammarChecks:
    """The checks of one turn."""

    def __init__(self, asks: Asks, checker: GrammarChecker | None, owner: str) -> None:
        """`owner` is the caller whose turn it is. Without a checker, Lark grammars are not checked."""
        self._asks = asks
        self._checker = checker
        self._owner = owner

    @property
    def are_needed(self) -> bool:
        """Whether there may be something to check: not if the tools of the turn are known, and none has a grammar."""
        checks = _checks_of(self._asks.turn)
        return checks is None or checks.has_lark

    async def watch(self, batches: AsyncGenerator[list[Event]]) -> AsyncGenerator[list[Event]]:
        """The same batches. Before the last one the calls are checked, so that its warnings are complete."""
        async with aclosing(batches):
            async for batch in batches:
                checks = _checks_of(self._asks.turn) if is_last(batch) else None
                if checks is not None and checks.lark_inputs:
                    inputs, checks.lark_inputs = checks.lark_inputs, []
                    for each, fault in zip(inputs, await self._lark_faults(inputs), strict=True):
                        checks.tell(each, fault)
                yield batch

    async def faults(self, checks: InputChecks, inputs: Sequence[CallInput | None]) -> list[InputFault | None]:
        """What is wrong with each of these inputs. It is remembered."""
        lark = [each for each in inputs if each is not None and each.form.syntax == "lark"]
        checked = [each for each in lark if checks.may_check_lark()]
        found = dict.fromkeys(lark, TOO_MANY) | dict(zip(checked, await self._lark_faults(checked), strict=True))
        found |= {each: checks.pattern_fault(each) for each in inputs if each is not None and each not in found}
        for each, fault in found.items():
            checks.remember(each, fault)
        return [None if each is None else found[each] for each in inputs]

    async def _lark_faults(self, inputs: Sequence[CallInput]) -> list[InputFault | None]:
        if self._checker is None:
            return [None] * len(inputs)
        loop = asyncio.get_running_loop()
        end = loop.time() + SECONDS
        faults: list[InputFault | None] = []
        for each in inputs:
            fault = await self._checker.fault(each.form.definition, each.text, self._owner, end - loop.time())
            faults.append(None if fault is None else InputFault(*fault))
        return faults


def _checks_of(turn: AnyTurn) -> InputChecks | None:
    table: BridgeTable | None = getattr(turn, "table", None)  # those that make no summary or object have one
    return None if table is None else table.checks
