"""Asks processes whether texts obey Lark grammars. They start when they are needed, and are stopped if they take long.

Clients write the grammars and models write the texts, and the library may need any time, or exhaust its stack. In a
process of its own this costs nobody but the caller: each has one of two processes, as `FairSlots` shares them.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..fair_slots import FairSlots

PROCESSES: Final = 2
LONGEST_GRAMMAR: Final = 64 * 1024
"""Characters."""
LONGEST_TEXT: Final = 512 * 1024
"""Characters."""
STARTS: Final = 10.0
"""Seconds that a process may take to start."""
_PROGRAM: Final = Path(__file__).with_name("grammar_process.py")
_KEPT: Final = ("PYTHONPATH", "PYTHONHOME", "SYSTEMROOT")
"""Variables of the environment that the program may need. Others may hold keys."""
_LONGEST_LINE: Final = 4096


class GrammarFault(NamedTuple):
    """What is wrong with a text, as the end of a sentence about it."""

    words: str
    is_mismatch: bool = False
    """Whether it does not match; otherwise it was not checked."""


TOO_SLOW: Final = GrammarFault("was not checked: that takes too long")


def can_check() -> bool:
    """Whether the library that reads grammars is installed."""
    return find_spec("llguidance") is not None


class GrammarChecker:
    """Checks texts. It must be closed on the event loop on which it was used."""

    def __init__(self) -> None:
        self._slots = FairSlots(PROCESSES)
        self._idle: list[Process] = []
        self._ending: set[asyncio.Task[int]] = set()
        self._closed = False

    async def fault(self, grammar: str, text: str, owner: str, seconds: float) -> GrammarFault | None:
        """What is wrong with the text; None if it obeys the grammar.

        Waiting and checking take at most `seconds`, in addition to the start of a process. `owner` is the caller.
        """
        if len(grammar) > LONGEST_GRAMMAR:
            return GrammarFault(f"was not checked: its grammar has more than {LONGEST_GRAMMAR:,} characters")
        if len(text) > LONGEST_TEXT:
            return GrammarFault(f"was not checked: it has more than {LONGEST_TEXT:,} characters")
        try:
            return await self._checked(grammar, text, owner, asyncio.get_running_loop().time() + seconds)
        except TimeoutError:
            return TOO_SLOW
        except (OSError, EOFError, ValueError):
            return GrammarFault("was not checked: the check of its grammar failed")

    async def close(self) -> None:
        """Stops the processes."""
        self._closed = True
        while self._idle:
            self._stop(self._idle.pop())
        if self._ending:
            await asyncio.wait(self._ending)

    async def _checked(self, grammar: str, text: str, owner: str, end: float) -> GrammarFault | None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(end):
            await asyncio.sleep(0)  # raises if there is no time at all
            await self._slots.take(owner)
        try:
            before = loop.time()
            process = self._idle.pop() if self._idle else await self._started()
            end += loop.time() - before
            return _read(await self._asked(process, grammar, text, end))
        finally:
            self._slots.give_back(owner)

    async def _started(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(_PROGRAM),
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_LINE, start_new_session=True,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
        )  # fmt: skip
        try:
            async with asyncio.timeout(STARTS):
                await _line_of(process)
        except BaseException:
            self._stop(process)
            raise
        return process

    async def _asked(self, process: Process, grammar: str, text: str, end: float) -> dict[str, Any]:
        """The answer of a process, which is then free for the next check; it is stopped if there is none."""
        assert process.stdin is not None  # noqa: S101 — it was started with one
        answer: dict[str, Any] | None = None
        try:
            async with asyncio.timeout_at(end):
                process.stdin.write(json.dumps({"grammar": grammar, "text": text}).encode() + b"\n")
                await process.stdin.drain()
                answer = json.loads(await _line_of(process))
        finally:
            if answer is None or self._closed:
                self._stop(process)
            else:
                self._idle.append(process)
        return answer

    def _stop(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        ending = asyncio.get_running_loop().create_task(process.wait())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


async def _line_of(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 — it was started with one
    line = await process.stdout.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


def _read(answer: dict[str, Any]) -> GrammarFault | None:
    if "unreadable" in answer:
        return GrammarFault(f"was not checked: its grammar cannot be read ({answer['unreadable']})")
    if "complex" in answer:
        return GrammarFault("was not checked: its grammar is too complex for it")
    if answer["at"] is None:
        return None
    words = f"does not match the grammar of the tool after {answer['at']:,} characters"
    return GrammarFault(words, is_mismatch=True)
